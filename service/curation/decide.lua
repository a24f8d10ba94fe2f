-- Put a decision in the place of the one that was read, and the proposal where it belongs with it.
-- KEYS[1] the decisions       ARGV[1] number of the proposal
-- KEYS[2] the open ones       ARGV[2] the decision that was read, "" for none, "*" for any
-- KEYS[3] those that ended    ARGV[3] the decision that is to stand there, "" for none
-- KEYS[4] the rows            ARGV[4] "open" or "ended"
-- KEYS[5] bytes that ended    ARGV[5] until when it is open, or when it ended
-- Returns the decision that stands there now, "" for none; nil where the proposal is gone. Doing it twice is harmless.

local size = redis.call('HSTRLEN', KEYS[4], ARGV[1])
if size == 0 then return nil end
local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current ~= ARGV[3] then
  if ARGV[2] ~= '*' and current ~= ARGV[2] then return current end
  if ARGV[3] == '' then
    redis.call('HDEL', KEYS[1], ARGV[1])
  else
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
  end
end
if ARGV[4] == 'open' then
  if redis.call('ZREM', KEYS[3], ARGV[1]) == 1 then redis.call('DECRBY', KEYS[5], size) end
  redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
else
  redis.call('ZREM', KEYS[2], ARGV[1])
  if redis.call('ZADD', KEYS[3], ARGV[5], ARGV[1]) == 1 then redis.call('INCRBY', KEYS[5], size) end
end
return ARGV[3]
