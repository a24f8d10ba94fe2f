-- Put the record of a key in the place of the one that was read, or of none.
-- KEYS[1] the keys    ARGV[1] whose key
--                     ARGV[2] the record that was read, "" for none
--                     ARGV[3] the record that is to stand there
-- Returns 1, also when it was done before and the reply was lost; or 0 when somebody else changed it meanwhile: then
-- nothing is written.

local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current == ARGV[3] then return 1 end
if current ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
