#!lua
-- uses deliver push_out
-- replies integer
-- Makes the subscribers of events due (WEBSUB U14). Those already due or being served will get these events anyway;
-- others get their cursor set right before the event, so that skipped events need no write.
-- ARGV: prefix, the leader's token, group, the last of these events, '1' = there are no other subscribers, then
-- repeated: id, stream id before the event ('' = no event to send), number of events withheld from it.
-- Returns 1, or 0 if another worker leads: then nothing was written.
local token, group, mark, is_last = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if redis.call('GET', prefix .. 'lock:push_out') ~= token then return 0 end
local now = text(clock())
for i = 6, #ARGV, 3 do
  local id, before, withheld = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local record = redis.call('HMGET', subscriber_key(id), 'state', 'cursor')
  if record[1] and withheld ~= '0' then redis.call('HINCRBY', subscriber_key(id), 'withheld', withheld) end
  if record[1] == 'active' and before ~= '' and redis.call('ZADD', due_key, 'NX', now, id) == 1 and after(before, record[2] or '0-0') then
    redis.call('HSET', subscriber_key(id), 'cursor', before)
  end
end
local place = delivered_key('push_out')
if not is_last then
  -- If a subscriber was settled without these events before the mark exists, push_out_settle.lua checks it again.
  redis.call('SET', begun_key, mark)
elseif after(mark, redis.call('GET', place) or '') then
  redis.call('SET', place, mark)
  -- The server knows a group's lag only at the end of the stream.
  local stream, words = redis.pcall('XINFO', 'STREAM', events_key), {}
  for f = 1, stream.err and 0 or #stream, 2 do words[stream[f]] = stream[f + 1] end
  if words['last-generated-id'] == mark then
    redis.pcall('XGROUP', 'SETID', events_key, group, mark, 'ENTRIESREAD', words['entries-added'])
  else
    redis.pcall('XGROUP', 'SETID', events_key, group, mark)
  end
end
return 1
