-- Drop rows, only if nothing has changed since it was seen that nobody needs them.
-- KEYS[1] the log                  ARGV[1] digest of the newest commit
-- KEYS[2] which versions are kept  ARGV[2] as that was noted
-- KEYS[3] ... rows
-- Returns 1, or 0: a newer commit may name some of them, or a version be kept that reads them.

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local digest = ''
for i = 1, last and #last[2] or 0, 2 do
  if last[2][i] == 'digest' then digest = last[2][i + 1] end
end
if digest ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
