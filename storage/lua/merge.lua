#!lua
-- uses nothing
-- replies array of 2
-- Copies a partition's events into the merged stream (RELIABILITY L28). After the head they are unchanged; `seq` and
-- `prev` are those of the merged stream.
-- ARGV: prefix of the deployment, partition, id up to which its events have been copied ('' = report it), the newest
-- copy that the caller knows of, maximum number of records, then repeated: id, type, JSON text.
-- Returns {id up to which they are now copied, id of the newest copy}. Nothing is written if the first id differs:
-- another worker is copying too.
local stream, partition, from, seen, cap = prefix .. 'stream:signals', ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local places = '{' .. stream .. '}:merged'
local noted = redis.call('HMGET', places, partition, 'last')
local at, last = noted[1] or '0-0', noted[2] or '0-0'
if from ~= at then return {at, last} end

-- Moves the next id past `id`: new ids follow all existing ids and all that any worker has seen, whatever the clock
-- says.
local ms, n = 0, 0
local function go_behind(id)
  local other_ms, other_n = string.match(id or '', '^(%d+)-(%d+)$')
  other_ms, other_n = tonumber(other_ms), tonumber(other_n)
  if other_ms and (other_ms > ms or other_ms == ms and other_n > n) then ms, n = other_ms, other_n end
end
go_behind(last)
go_behind(seen)
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
go_behind(newest and newest[1])

local now = clock()
for i = 6, #ARGV, 3 do
  go_behind(ARGV[i])
  if now > ms then ms, n = now, 1 else n = n + 1 end
  local seq = text(ms) .. '-' .. text(n)
  local _, head_end = string.find(ARGV[i + 2], '^{"v":1,"seq":"[%d-]*","prev":"[%d-]*",')
  local json = head_end and '{"v":1,"seq":"' .. seq .. '","prev":"' .. last .. '",' .. string.sub(ARGV[i + 2], head_end + 1) or
               ARGV[i + 2]
  redis.call('XADD', stream, 'MAXLEN', '~', cap, seq, 'type', ARGV[i + 1], 'json', json)
  at, last = ARGV[i], seq
end
redis.call('HSET', places, partition, at, 'last', last)
return {at, last}
