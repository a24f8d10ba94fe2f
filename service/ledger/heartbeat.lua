-- Note that a replica is alive, by the server's clock, so that replicas on several machines agree on its age.
-- KEYS[1] the replicas    ARGV[1] replica id
--                         ARGV[2] the heartbeat, JSON

local now = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], now[1] .. '.' .. string.format('%06d', now[2]) .. ' ' .. ARGV[2])
