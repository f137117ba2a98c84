#!lua flags=allow-oom
-- uses posts deliver
-- replies array of 2
-- Reports the position of the signals' consumer groups; trims the stream to its caps and age, but never what a group
-- has not acknowledged: only a commit does that, at twice the cap (RELIABILITY L13).
-- ARGV: prefix, stream cap, how long to keep records, ms.
-- Returns {length, now ms, {name, remaining records, time of the oldest remaining record ms}…}.
local now = clock()
local since = text(now - tonumber(ARGV[3]))
local cap, most_bytes = caps_of(ARGV[2])
local length = redis.call('XLEN', signals_key)
if redis.call('EXISTS', signals_key) == 0 then return {0, now} end
local needed, answers = nil, {}
for _, info in ipairs(redis.call('XINFO', 'GROUPS', signals_key)) do
  local group = {}
  for i = 1, #info, 2 do group[info[i]] = info[i + 1] end
  local oldest
  local waiting = redis.call('XRANGE', signals_key, '(' .. group['last-delivered-id'], '+', 'COUNT', 1)[1]
  if waiting then oldest = waiting[1] end
  if group['pending'] > 0 then oldest = redis.call('XPENDING', signals_key, group['name'])[2] end
  local behind = group['lag'] or (waiting and length or 0)  -- unknown to the server: use the upper bound
  answers[#answers + 1] = {group['name'], behind + group['pending'], oldest and string.match(oldest, '^%d+') or ''}
  -- A group that is up to date needs nothing older than the last record it was given.
  local first = oldest or group['last-delivered-id']
  if not needed or after(needed, first) then needed = first end
end
local newest = redis.call('XREVRANGE', signals_key, '+', '-', 'COUNT', 1)[1]
needed = needed or (newest and newest[1])
if needed and length > cap then redis.call('XTRIM', signals_key, 'MINID', '~', needed, 'LIMIT', length - cap) end
local written = needed and most_bytes and redis.call('HGET', meta_key, 'bytes')
if written then
  trim_to_bytes(tonumber(string.match(written, '^%d+')) or 0, most_bytes, function(id) return not after(id, needed) end)
end
if needed and after(needed, since .. '-0') then needed = since .. '-0' end
if needed then redis.call('XTRIM', signals_key, 'MINID', '~', needed, 'LIMIT', 10000) end
return {length, now, unpack(answers)}
