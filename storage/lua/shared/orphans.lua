-- Appended to posts.lua in the scripts that add feeds to channels or remove, pause or resume them. An orphan is a feed
-- added for a channel and no longer in any (RELIABILITY L19). In a feed's state, `for_channels` means that it was never
-- added for itself, `orphaned` that it is paused for being in no channel. state:orphans holds since when; it is a hint:
-- only a feed's own keys show whether it is in a channel, and a broken index must not stop anything.
local orphans_key = prefix .. 'state:orphans'

local function is_orphan(url)
  return redis.call('EXISTS', holders_key(url)) == 0 and redis.call('SISMEMBER', feeds_key, url) == 1 and
         redis.call('HGET', state_key(url), 'for_channels')
end

-- Call when a feed may have left its last channel.
local function note_leaving(url, now)
  if is_orphan(url) then redis.pcall('ZADD', orphans_key, text(now), url) end
end

-- Takes a feed out of the schedule. `won`: the reason to show.
local function pause_feed(url, state, now, won)
  local due, line = due_of(url)
  redis.call('ZREM', schedule_key, url)
  if line then leave_line(url, line) end
  redis.call('HSET', state_key(url), 'state', 'paused', 'before_pause', state, 'paused_due', text(due or now), 'won', won)
  redis.call('HDEL', state_key(url), 'held', 'wake', 'plain')
  count_state(url, state, 'paused', now)
end

-- Call when a feed is put into a channel or added for itself. If it was paused as an orphan it resumes, but not sooner
-- than it was due.
local function note_wanted(url, now)
  redis.pcall('ZREM', orphans_key, url)
  local feed_state = state_key(url)
  if redis.call('HDEL', feed_state, 'orphaned') == 0 or redis.call('SISMEMBER', feeds_key, url) == 0 then return end
  local mine = redis.call('HMGET', feed_state, 'state', 'before_pause', 'paused_due')
  if mine[1] ~= 'paused' then return end
  local state, due = mine[2] or 'new', math.max(now, tonumber(mine[3] or nil) or 0)
  redis.call('ZADD', schedule_key, text(due), url)
  redis.call('HSET', feed_state, 'state', state, 'won', 'manual', 'why', due_input('manual', due - now, 'wanted'))
  redis.call('HDEL', feed_state, 'before_pause', 'paused_due')
  count_state(url, 'paused', state, now)
  if due <= now then wake_a_worker() end
end
