#!lua
-- uses posts deliver
-- replies integer
-- Numbers channels 1, 2, … in the order given, those that have gone left out. ARGV: prefix, then uids.
local place = 0
for i = 2, #ARGV do
  if redis.call('SISMEMBER', channels_key, ARGV[i]) == 1 then
    place = place + 1
    redis.call('SET', channel_order_key(ARGV[i]), place)
  end
end
return place
