-- Append a call to a stream of the audit, under an id that no other stream of it has.
-- KEYS[1] the stream    ARGV[1] the call, encoded
--                       ARGV[2] how many entries the stream may have, about; 0 for any number
--                       ARGV[3] the number of the stream, from 0
--                       ARGV[4] how many streams there are
-- Ids are in the order of the server's time; the numbers after the milliseconds are shared out among the streams.

local time = redis.call('TIME')
local milliseconds = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local number = tonumber(ARGV[3])

local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if last then
  local last_milliseconds, last_number = string.match(last[1], '^(%d+)-(%d+)$')
  if tonumber(last_milliseconds) >= milliseconds then
    milliseconds = tonumber(last_milliseconds)
    number = number + (math.floor(tonumber(last_number) / ARGV[4]) + 1) * ARGV[4]
  end
end

local id = string.format('%.0f-%.0f', milliseconds, number)
if ARGV[2] == '0' then return redis.call('XADD', KEYS[1], id, 'entry', ARGV[1]) end
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], id, 'entry', ARGV[1])
