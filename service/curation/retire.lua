-- Move proposals that have expired to those that ended, and drop the oldest of these while there are too many.
-- KEYS[1] the decisions       ARGV[1] now, in Unix seconds
-- KEYS[2] the open ones       ARGV[2] those that ended before are dropped
-- KEYS[3] those that ended    ARGV[3] largest number of those that ended
-- KEYS[4] the rows            ARGV[4] largest number of their bytes
-- KEYS[5] bytes that ended    ARGV[5] largest number that is moved, and that is dropped, by one call
-- Returns the number of the open ones, their bytes, and how many rows are neither open nor ended, as an older build
-- left them.

for _, number in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[1], 'LIMIT', 0, ARGV[5])) do
  local expires = redis.call('ZSCORE', KEYS[2], number)
  redis.call('ZREM', KEYS[2], number)
  if redis.call('ZADD', KEYS[3], expires, number) == 1 then
    redis.call('INCRBY', KEYS[5], redis.call('HSTRLEN', KEYS[4], number))
  end
end

for _ = 1, tonumber(ARGV[5]) do
  local oldest = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
  local n_bytes = tonumber(redis.call('GET', KEYS[5]) or '0')
  local is_over = redis.call('ZCARD', KEYS[3]) > tonumber(ARGV[3]) or n_bytes > tonumber(ARGV[4])
  if not oldest[1] or not (is_over or tonumber(oldest[2]) < tonumber(ARGV[2])) then break end
  redis.call('DECRBY', KEYS[5], redis.call('HSTRLEN', KEYS[4], oldest[1]))
  redis.call('ZREM', KEYS[3], oldest[1])
  redis.call('HDEL', KEYS[4], oldest[1])
  redis.call('HDEL', KEYS[1], oldest[1])
end

local open, n_bytes = redis.call('ZRANGE', KEYS[2], 0, -1), 0
for _, number in ipairs(open) do n_bytes = n_bytes + redis.call('HSTRLEN', KEYS[4], number) end
return {#open, n_bytes, redis.call('HLEN', KEYS[4]) - #open - redis.call('ZCARD', KEYS[3])}
