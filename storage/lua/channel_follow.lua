#!lua
-- uses posts orphans deliver channel requests
-- replies integer
-- answers requests
-- Puts a feed into a channel (put_into_channel of channel.lua). ARGV: prefix, uid, feed_url, '1' = create the channel
-- if needed, the channel's own title for the feed, which replaces no other ('' = none).
-- Returns 1 = new, 0 = known, -1 = no such channel, -2 = no such feed, or a feed being removed, which would leave
-- again.
local uid, url, titles = ARGV[2], ARGV[3], channel_titles_key(ARGV[2])
if ARGV[4] ~= '1' and redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
if redis.call('SISMEMBER', feeds_key, url) == 0 then return -2 end
create_channel(uid)
if ARGV[5] ~= '' and not redis.call('HGET', titles, url) then redis.call('HSET', titles, url, ARGV[5]) end
return put_into_channel(uid, url)
