#!lua
-- uses posts deliver
-- replies integer
-- Puts a feed into a channel, its posts into the index, and those that were not read into the timeline (RELIABILITY L15). Again is
-- harmless: it then brings both up to what the feed's index says.
-- ARGV: prefix, uid, feed_url. Returns 1 = new, 0 = known, -1 = no such channel.
local uid, url = ARGV[2], ARGV[3]
if redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
local added = redis.call('SADD', channel_feeds_key(uid), url)
redis.call('SADD', holders_key(url), uid)
local posts = redis.call('ZRANGE', sort_key(url), 0, -1, 'WITHSCORES')
local floor = floor_of(uid)
local any_read = redis.call('EXISTS', channel_read_key(uid)) == 1
for i = 1, #posts, 2 do
  if not any_read or not redis.call('ZSCORE', channel_read_key(uid), posts[i]) then
    redis.call('ZADD', timeline_key(uid), posts[i + 1], posts[i])
  end
  if is_above(floor, posts[i + 1], posts[i]) then redis.call('ZADD', index_key(uid), posts[i + 1], posts[i]) end
end
trim_index(uid, floor)
return added
