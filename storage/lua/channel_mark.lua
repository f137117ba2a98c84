#!lua
-- uses posts deliver requests
-- replies integer
-- answers requests
-- Marks posts of a channel read or unread. Read posts leave the timeline (DESIGN §3).
-- ARGV: prefix, uid, 'read' | 'unread', then entry ids; or 'all' (read: the oldest 500 up to a position), the position
-- ('<score>' or '<score>:<entry id>', itself included), and the feed they must be of ('' = any).
-- Returns how many changed; -1 = no such channel.
local uid, how = ARGV[2], ARGV[3]
if redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
local posts, marks = timeline_key(uid), channel_read_key(uid)
local now, changed = text(math.floor(clock() / 1000)), 0

-- The oldest 500 unread posts up to a position. The feed's own order has the scores of the timeline.
local function unread_up_to(place, url)
  local score, last = string.match(place, '^([^:]*):?(.*)$')
  local key = url == '' and posts or sort_key(url)
  local limit = url == '' and {'LIMIT', 0, 500} or {}
  local found = {}
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', score, unpack(limit))) do
    local its = redis.call('ZSCORE', posts, id)
    if its and (last == '' or id <= last or tonumber(its) < tonumber(score)) then found[#found + 1] = id end
    if #found == 500 then break end
  end
  return found
end

local ids = how == 'all' and unread_up_to(ARGV[4], ARGV[5]) or {unpack(ARGV, 4)}
for _, id in ipairs(ids) do
  local url = string.sub(id, 1, #entry_key('')) == entry_key('') and redis.call('HGET', id, 'feed_url')
  local ours = url and redis.call('SISMEMBER', channel_feeds_key(uid), url) == 1
  if how == 'unread' then
    local was_read = redis.call('ZREM', marks, id) == 1
    redis.call('ZREM', gone_key, id .. ' ' .. uid)
    local score = ours and redis.call('ZSCORE', sort_key(url), id)
    if was_read and score then
      redis.call('ZADD', posts, score, id)
      changed = changed + 1
    end
  else
    local was_there = redis.call('ZREM', posts, id) == 1
    if ours then
      if redis.call('ZADD', marks, 'NX', now, id) == 1 then changed = changed + 1 end
    elseif was_there then
      changed = changed + 1  -- the post has been removed: nothing to remember
    end
  end
end
return changed
