#!lua
-- uses posts deliver
-- replies array of 6
-- Writes post_same_as, each record's once and in order, as deliver_posts does (RELIABILITY L14, L20).
-- ARGV: prefix, target, channel prefix, stream cap, then for each record: stream id, predecessor, entry id, what its event
-- says behind `timestamp` ('' = it has none).
-- Returns {'ok' | 'hole', applied, repeated, 0, last id applied, events written}.
local pointer, channel = delivered_key(ARGV[2]), ARGV[3] .. 'post_same_as'
local last = redis.call('GET', pointer) or '0-0'
local applied, repeated, result, told = 0, 0, 'ok', {}
for i = 5, #ARGV, 4 do
  local id, before, entry, said = unpack(ARGV, i, i + 3)
  if not after(id, last) then
    repeated = repeated + 1
  elseif before ~= '' and after(before, last) then
    result = 'hole'
    break
  else
    if said ~= '' and redis.call('EXISTS', entry) == 1 then told[#told + 1] = {entry, said} end
    last, applied = id, applied + 1
  end
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
if applied > 0 then redis.call('SET', pointer, last) end
return {result, applied, repeated, 0, last, #told}
