#!lua
-- uses posts deliver channel requests
-- replies integer
-- answers requests
-- Puts a feed into a channel and its posts into the timeline, those that were read apart (RELIABILITY L15). Again is
-- harmless: it then brings the timeline up to what the feed's index says.
-- ARGV: prefix, uid, feed_url. Returns 1 = new, 0 = known, -1 = no such channel.
local uid, url = ARGV[2], ARGV[3]
if redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
return put_into_channel(uid, url)
