-- The newest version, without sending its commit over the wire.
-- KEYS[1] the log
-- Returns the version, 0 for an empty ledger.

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
return last and tonumber(string.match(last[1], '^%d+')) or 0
