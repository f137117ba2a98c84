#!lua
-- uses posts deliver
-- replies array of 3
-- Delivers the whole stream at once if it has no recipients (RELIABILITY L14): moves both places and the group to its
-- end without reading records. As this is one script, later subscribers get all later commits. ARGV: prefix, group.
-- Returns {'passed', records, place}: everything up to `place` is delivered; {'wanted', 0, ''}: there is a channel or a
-- rule; or {'unread', 0, ''}: the records must be read, because they may concern operators, or because the group and
-- the places disagree on how far the stream was read.
if redis.call('EXISTS', channels_key, watchers_key) > 0 then return {'wanted', 0, ''} end

local function named(pairs)
  local row = {}
  for i = 1, #pairs, 2 do row[pairs[i]] = pairs[i + 1] end
  return row
end

local group
local groups = redis.pcall('XINFO', 'GROUPS', signals_key)
for _, info in ipairs(groups.err and {} or groups) do
  local row = named(info)
  if row['name'] == ARGV[2] then group = row end
end
local timelines, notices = delivered_key('timelines'), delivered_key('notices')
local place = redis.call('GET', timelines) or '0-0'
if not group or group['pending'] > 0 or group['last-delivered-id'] ~= place or
   (redis.call('GET', notices) or '0-0') ~= place then
  return {'unread', 0, ''}
end

local stream = named(redis.call('XINFO', 'STREAM', signals_key))
local newest = stream['last-entry'] and stream['last-entry'][1] or '0-0'
local noted = redis.call('HMGET', meta_key, 'last_signal', 'quiet')
if not after(newest, place) and not after(noted[1] or '0-0', place) then return {'passed', 0, place} end
local quiet_after, quiet_up_to = string.match(noted[2] or '', '^(%d+%-%d+) (%d+%-%d+)$')
if not quiet_up_to or quiet_up_to ~= noted[1] or after(newest, quiet_up_to) or after(quiet_after, place) then
  return {'unread', 0, ''}
end
redis.call('SET', timelines, quiet_up_to)
redis.call('SET', indexed_key, quiet_up_to)
redis.call('SET', notices, quiet_up_to)
redis.call('XGROUP', 'SETID', signals_key, ARGV[2], quiet_up_to, 'ENTRIESREAD', stream['entries-added'])
return {'passed', group['lag'] or 0, quiet_up_to}
