-- Claim an unfinished import as dead: from now on no commit can name it, and its rows may be dropped.
-- KEYS[1] the unfinished imports    ARGV[1] the import
-- KEYS[2] those being dropped
-- Returns what it has, as noted, or nil when there is no such import: a commit named it, or its rows are gone.

local has = redis.call('HGET', KEYS[1], ARGV[1])
if has then
  redis.call('HSET', KEYS[2], ARGV[1], has)
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return redis.call('HGET', KEYS[2], ARGV[1])
