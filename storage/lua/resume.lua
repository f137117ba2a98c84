#!lua
-- uses posts host orphans requests
-- replies array
-- answers requests
-- Returns paused feeds to the schedule, in their previous state. Each is due after the given ms, but not before: a
-- Retry-After; the sooner of its original due time and the floor after its last refresh (HTTP P6); the end of the lease
-- of a running refresh.
-- ARGV: prefix, floor ms, then repeated: feed_url, after ms. Returns {result, due} for each: resumed, running, unknown.
local floor, now = tonumber(ARGV[2]), clock()
local answers, spread_until = {}, 0
for i = 3, #ARGV, 2 do
  local url, after = ARGV[i], tonumber(ARGV[i + 1])
  local mine = redis.call('HMGET', state_key(url), 'state', 'before_pause', 'paused_due', 'claim', 'last_at', 'not_before')
  local answer = {'unknown', '0'}
  if mine[1] == 'paused' then
    local was_due = tonumber(mine[3]) or now
    local due, won = now + after, 'spread'
    if mine[4] then
      due, won = math.max(now, was_due), 'claimed'
    else
      local rested = math.min(was_due, (tonumber(mine[5]) or 0) + floor)
      if rested > due then due, won = rested, 'floor' end
      if (tonumber(mine[6]) or 0) > due then due, won = tonumber(mine[6]), 'retry_after' end
      if mine[2] == 'quarantined' and was_due > due then due, won = was_due, 'quarantine' end
      if won == 'spread' and after > 0 then spread_until = math.max(spread_until, due) end
    end
    redis.call('ZADD', schedule_key, text(due), url)
    if due <= now then wake_a_worker() end
    local state = mine[2] or 'new'
    redis.call('HSET', state_key(url), 'state', state, 'won', won, 'why', due_input(won, due - now, 'resumed'))
    redis.call('HDEL', state_key(url), 'before_pause', 'paused_due', 'orphaned')
    note_leaving(url, now)  -- starts its time as an orphan if it is in no channel
    count_state(url, 'paused', state, now)
    answer = {'resumed', text(due)}
  elseif redis.call('SISMEMBER', feeds_key, url) == 1 then
    answer = {'running', text(due_of(url) or 0)}
  end
  answers[#answers + 1] = answer
end
if spread_until > (tonumber(redis.call('HGET', meta_key, 'spread_until')) or 0) then
  redis.call('HSET', meta_key, 'spread_until', text(spread_until))
end
return answers
