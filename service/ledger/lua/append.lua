-- Append one commit, only if the ledger has not moved and the commit's rows are there.
-- KEYS[1] the log                          ARGV[1] the version the commit makes
-- KEYS[2] the unfinished imports           ARGV[2] digest of the commit it follows, "" for the first
-- KEYS[3] the idempotency key, or anything ARGV[3] digest of the commit
-- KEYS[4] where a restore leads to         ARGV[4] the commit, encoded
-- KEYS[5] ... rows that have to be there   ARGV[5] seconds the idempotency key lives; 0 when there is none
--                                          ARGV[6] "back" when a restore puts the commit back
--                                          ARGV[7] ... the imports that the commit names
-- Returns the version this request made, now or earlier; -1 - (current version) when the caller is stale; 0 when a
-- row is not there, because a failover lost it after it was stored.
-- Errors: FORKED, the log has another commit where this one follows; RESTORING, a restore leads to the version named;
-- SWEPT, the import named was claimed as dead and has lost its rows; CLOSED, the proposal of the key was rejected.
-- A commit that is sent again because its reply was lost is recognised by its digest and not made twice. The notes of
-- its imports go with it, so that nobody claims them any more.

local function digest_of(entry)
  if not entry then return '' end
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'digest' then return entry[2][i + 1] end
  end
  return ''
end

if ARGV[5] ~= '0' then
  local version = redis.call('GET', KEYS[3])
  if version == 'closed' then return redis.error_reply('CLOSED') end
  if version then return tonumber(version) end
end

local id = ARGV[1] .. '-0'
local version = tonumber(ARGV[1])
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local current = last and tonumber(string.match(last[1], '^%d+')) or 0

if current >= version then
  local same = redis.call('XRANGE', KEYS[1], id, id)[1]
  if same and digest_of(same) == ARGV[3] then return version end
end
if current ~= version - 1 then return -1 - current end
if digest_of(last) ~= ARGV[2] then return redis.error_reply('FORKED at ' .. current) end

local up_to = tonumber(string.match(redis.call('GET', KEYS[4]) or '0', '^%d+'))
if up_to >= version and ARGV[6] ~= 'back' then return redis.error_reply('RESTORING ' .. up_to) end

for i = 5, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return 0 end
end
for i = 7, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 0 then return redis.error_reply('SWEPT ' .. ARGV[i]) end
end

redis.call('XADD', KEYS[1], id, 'commit', ARGV[4], 'digest', ARGV[3])
for i = 7, #ARGV do redis.call('HDEL', KEYS[2], ARGV[i]) end
if ARGV[5] ~= '0' then redis.call('SET', KEYS[3], ARGV[1], 'EX', ARGV[5]) end
return version
