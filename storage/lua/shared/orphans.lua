-- Stands behind posts.lua in the scripts that put feeds into channels or take them out, pause them or let them go on:
-- feeds that were added for a channel and are in none any more (RELIABILITY L19). `for_channels` of a feed's state says
-- that nobody added it for itself; `orphaned` that it is paused for being in no channel. state:orphans has since when, a
-- hint: whether a feed is in a channel only its own keys say, and an index that is broken must stop nobody.
local orphans_key = prefix .. 'state:orphans'

local function is_orphan(url)
  return redis.call('EXISTS', holders_key(url)) == 0 and redis.call('SISMEMBER', feeds_key, url) == 1 and
         redis.call('HGET', state_key(url), 'for_channels')
end

-- A feed may have left its last channel.
local function note_leaving(url, now)
  if is_orphan(url) then redis.pcall('ZADD', orphans_key, text(now), url) end
end

-- Takes a feed out of the schedule. `won`: what explains that.
local function pause_feed(url, state, now, won)
  local due, line = due_of(url)
  redis.call('ZREM', schedule_key, url)
  if line then leave_line(url, line) end
  redis.call('HSET', state_key(url), 'state', 'paused', 'before_pause', state, 'paused_due', text(due or now), 'won', won)
  redis.call('HDEL', state_key(url), 'held', 'wake')
  count_state(url, state, 'paused', now)
end

-- Somebody wants a feed: it is in a channel, or added for itself. One that was paused as an orphan goes on, not sooner
-- than it had been due.
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
