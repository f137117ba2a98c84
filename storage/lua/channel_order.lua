#!lua
-- uses posts deliver requests
-- replies integer
-- answers requests
-- Orders channels. ARGV: prefix, 'all' = number them, leaving out removed ones; 'among' = redistribute their own places
-- among them, all others keep theirs; how many come before the first ('all'; 0 = the first gets 1). Then uids, each
-- once.
-- Returns how many; -1 = one of 'among' does not exist.
local uids, places, before = {}, {}, tonumber(ARGV[3])
for i = 4, #ARGV do
  if redis.call('SISMEMBER', channels_key, ARGV[i]) == 1 then
    uids[#uids + 1] = ARGV[i]
  elseif ARGV[2] == 'among' then
    return -1
  end
end
if ARGV[2] == 'among' then
  for i, uid in ipairs(uids) do places[i] = tonumber(redis.call('GET', channel_order_key(uid)) or nil) or 0 end
  table.sort(places)
end
for i, uid in ipairs(uids) do
  -- Two may have had the same place: then the later ones move by one.
  places[i] = i > 1 and math.max(places[i] or 0, places[i - 1] + 1) or places[i] or before + 1
  redis.call('SET', channel_order_key(uid), text(places[i]))
end
return #uids
