#!lua
-- uses posts host requests
-- replies array
-- answers requests
-- Takes feeds out of the schedule until resume. A refresh under way goes on and is committed; its lease is remembered.
-- ARGV: prefix, then feed URLs. Returns for each 1 = paused, 0 = was paused already, -1 = unknown.
local answers = {}
for i = 2, #ARGV do
  local url, answer = ARGV[i], -1
  if redis.call('SISMEMBER', feeds_key, url) == 1 then
    local state = redis.call('HGET', state_key(url), 'state') or 'new'
    answer = state == 'paused' and 0 or 1
    if answer == 1 then
      local due = tonumber(redis.call('ZSCORE', schedule_key, url) or clock())
      redis.call('ZREM', schedule_key, url)
      redis.call('HSET', state_key(url), 'state', 'paused', 'before_pause', state, 'paused_due', text(due), 'won', 'paused')
      redis.call('HDEL', state_key(url), 'held', 'wake')
      count_state(url, state, 'paused', clock())
    end
  end
  answers[#answers + 1] = answer
end
return answers
