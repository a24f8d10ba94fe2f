-- Append one commit, only if the ledger has not moved and the commit's rows are there.
-- KEYS[1] the log                          ARGV[1] the version the commit makes
-- KEYS[2] the unfinished imports           ARGV[2] digest of the commit it follows, "" for the first
-- KEYS[3] the idempotency key, or anything ARGV[3] digest of the commit
-- KEYS[4] where a restore leads to         ARGV[4] the commit, encoded
-- KEYS[5] ... rows that have to be there   ARGV[5] seconds the idempotency key is kept; 0 when there is none
--                                          ARGV[6] "back" when a restore puts the commit back
--                                          ARGV[7] ... the imports that the commit names
-- Returns the version this request made, now or earlier, or -1 - (current version) when the caller is stale, or 0
-- when a row is not there: a failover after it was stored lost it. RESTORING: the versions from here on are to be
-- those of a backup.
-- A commit that is sent again because its reply was lost is recognised by its digest and not made twice.
-- An import whose note is gone has lost its rows to somebody who took it for dead: no commit may name it. With the
-- commit the note goes, so that nobody drops the rows any more.

local function digest_of(entry)
  if not entry then return '' end
  for i = 1, #entry[2], 2 do
    if entry[2][i] == 'digest' then return entry[2][i + 1] end
  end
  return ''
end

if ARGV[5] ~= '0' then
  local known = redis.call('GET', KEYS[3])
  if known then return tonumber(known) end
end

local id = ARGV[1] .. '-0'
local version = tonumber(ARGV[1])
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local current = last and tonumber(string.match(last[1], '^%d+')) or 0

if current >= version then
  local resent = redis.call('XRANGE', KEYS[1], id, id)[1]
  if resent and digest_of(resent) == ARGV[3] then return version end
end
if current ~= version - 1 then return -1 - current end
if digest_of(last) ~= ARGV[2] then return redis.error_reply('FORKED at ' .. current) end

local up_to = tonumber(redis.call('GET', KEYS[4]) or 0)
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
