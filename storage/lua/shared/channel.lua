-- Appended to deliver.lua and orphans.lua in the scripts that create and fill channels.

-- Creates a channel, last in the order. Returns 1 = new, 0 = known.
local function create_channel(uid)
  local new = redis.call('SADD', channels_key, uid)
  if new == 1 then
    redis.call('SET', channel_order_key(uid), redis.call('SCARD', channels_key))
    redis.call('HSET', floors_key, uid, '')
  end
  return new
end

-- Puts a feed into a channel, its posts into the index and its unread posts into the timeline (RELIABILITY L15).
-- Repeating it is harmless and brings both up to date with the feed's index. Returns 1 = new in the channel, 0 = known.
local function put_into_channel(uid, url)
  local added = redis.call('SADD', channel_feeds_key(uid), url)
  redis.call('SADD', holders_key(url), uid)
  note_wanted(url, clock())
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
end
