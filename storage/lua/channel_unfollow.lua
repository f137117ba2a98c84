#!lua flags=allow-oom
-- uses posts deliver requests
-- replies integer
-- answers requests
-- Takes a feed out of a channel; channel_prune then takes its posts, and an index that posts have fallen off is to be
-- built anew: there is room now. ARGV: prefix, uid, feed_url.
-- Returns 1 = it was there, 0 = not, -1 = no such channel.
local uid, url = ARGV[2], ARGV[3]
redis.call('SREM', holders_key(url), uid)
local removed = redis.call('SREM', channel_feeds_key(uid), url)
if removed == 0 and redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
if removed == 1 and has_fallen(floor_of(uid)) then redis.call('HSET', floors_key, uid, '~') end
return removed
