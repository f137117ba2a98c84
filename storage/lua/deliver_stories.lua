#!lua
-- uses posts deliver
-- replies array of 6
-- Writes post_same_as events, for each record once and in order, as in deliver_posts (RELIABILITY L14, L20).
-- ARGV: prefix, target, channel prefix, stream cap, then for each record: stream id, predecessor, entry id, the event's
-- text after `timestamp` ('' = no event).
-- Returns {'ok' | 'hole', applied, repeated, 0, last id applied, events written}.
local channel, records, told = ARGV[3] .. 'post_same_as', records_of(ARGV[2]), {}
for i = 5, #ARGV, 4 do
  local id, before, entry, said = unpack(ARGV, i, i + 3)
  local is_next = records.take(id, before)
  if is_next == nil then break end
  if is_next and said ~= '' and redis.call('EXISTS', entry) == 1 then told[#told + 1] = {entry, said} end
end
if #told > 0 then
  local now = clock()
  local signal, finish = signal_writer(now, ARGV[4], true)
  for _, one in ipairs(told) do
    signal('post_same_as', 'post', '"' .. one[1] .. '"',
           '"action":"updated","timestamp":' .. text(math.floor(now / 1000)) .. ',' .. one[2], channel)
  end
  finish()
end
records.finish()
return {records.result, records.applied, records.repeated, 0, records.last, #told}
