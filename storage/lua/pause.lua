#!lua
-- uses posts host orphans requests
-- replies array
-- answers requests
-- Takes feeds out of the schedule until resumed. A running refresh continues and is committed; its lease is recorded. A
-- feed paused as an orphan becomes paused by its operator (RELIABILITY L19).
-- ARGV: prefix, then feed URLs. Returns for each 1 = paused, 0 = was already paused, -1 = unknown.
local answers = {}
for i = 2, #ARGV do
  local url, answer = ARGV[i], -1
  if redis.call('SISMEMBER', feeds_key, url) == 1 then
    local state = redis.call('HGET', state_key(url), 'state') or 'new'
    answer = state == 'paused' and 0 or 1
    if answer == 1 then pause_feed(url, state, clock(), 'paused') end
    if redis.call('HDEL', state_key(url), 'orphaned') == 1 then redis.call('HSET', state_key(url), 'won', 'paused') end
  end
  answers[#answers + 1] = answer
end
return answers
