-- Where the ledger ends, without sending its last commit over the wire.
-- KEYS[1] the log
-- Returns the newest version and the digest of its commit; 0 and "" for an empty ledger.

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not last then return {0, ''} end

local version = tonumber(string.match(last[1], '^%d+'))
for i = 1, #last[2], 2 do
  if last[2][i] == 'digest' then return {version, last[2][i + 1]} end
end
return {version, ''}
