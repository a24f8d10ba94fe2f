-- Drop rows, only if the ledger has not moved since it was seen that nobody needs them.
-- KEYS[1] the log   KEYS[2] ... rows   ARGV[1] digest of the newest commit
-- Returns 1, or 0 when there is a newer commit, which may name some of them; then nothing is dropped.

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local digest = ''
for i = 1, last and #last[2] or 0, 2 do
  if last[2][i] == 'digest' then digest = last[2][i + 1] end
end
if digest ~= ARGV[1] then return 0 end
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
