-- Note which versions are kept, only if that is still what it was when this was decided.
-- KEYS[1] which are kept   ARGV[1] as it was, "" for none   ARGV[2] as it is to be
-- Returns 1, also when it was done before and the reply was lost; or 0.

local now = redis.call('GET', KEYS[1]) or ''
if now == ARGV[2] then return 1 end
if now ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1
