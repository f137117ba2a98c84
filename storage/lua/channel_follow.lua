#!lua
-- uses posts deliver channel requests
-- replies integer
-- answers requests
-- Puts a feed into a channel (put_into_channel of channel.lua). ARGV: prefix, uid, feed_url.
-- Returns 1 = new, 0 = known, -1 = no such channel.
local uid, url = ARGV[2], ARGV[3]
if redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
return put_into_channel(uid, url)
