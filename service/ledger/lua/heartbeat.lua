-- Note that a replica is alive, by the server's clock, so that replicas on several machines agree on its age.
-- Those that died without a word are swept out, so that the list does not grow for ever.
-- KEYS[1] the replicas    ARGV[1] replica id
--                         ARGV[2] the heartbeat, JSON
--                         ARGV[3] seconds without a heartbeat after which a replica is forgotten

local now = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], now[1] .. '.' .. string.format('%06d', now[2]) .. ' ' .. ARGV[2])

local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local seen = tonumber(string.match(all[i + 1], '^%d+')) or 0
  if now[1] - seen > tonumber(ARGV[3]) then redis.call('HDEL', KEYS[1], all[i]) end
end
