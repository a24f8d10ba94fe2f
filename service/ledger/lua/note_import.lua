-- Note what an unfinished import has in Redis, unless it was claimed as dead meanwhile.
-- KEYS[1] the unfinished imports    ARGV[1] the import
--                                   ARGV[2] what it has, encoded
--                                   ARGV[3] "first" when it is noted for the first time
-- Returns 1, or 0 when its note is gone: then its rows are, too, or will be.

if ARGV[3] ~= 'first' and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
