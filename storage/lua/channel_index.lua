#!lua
-- uses posts deliver
-- replies integer
-- Marks the start or end of building a channel's index: in between, every feed is put into the channel again.
-- ARGV: prefix, uid, 'begin' | 'end'. Returns 0 = no such channel.
local uid = ARGV[2]
if redis.call('SISMEMBER', channels_key, uid) == 0 then return 0 end
local floor = ARGV[3] == 'begin' and '~' or string.gsub(floor_of(uid), '^~', '')
redis.call('HSET', floors_key, uid, floor)
return 1
