#!lua
-- uses posts host orphans requests
-- replies array
-- answers requests
-- Puts paused feeds back into the schedule, in the state they had: due after so many ms, but neither before a Retry-After
-- that holds, nor sooner after the last refresh than the floor or than they had been due (HTTP P6), nor before the lease
-- of a refresh that is still under way has ended.
-- ARGV: prefix, floor ms, then feed_url, after ms in turn. Returns {result, due} for each: resumed, running, unknown.
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
    note_leaving(url, now)  -- from now on, where it is in no channel
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
