#!lua flags=allow-oom
-- Gives claims back (RELIABILITY L9). ARGV: prefix, due ms ('' = the due time of before), then feed_url, claim in turn.
-- Returns how many were still held.
local due = tonumber(ARGV[2])
local released = 0
for i = 3, #ARGV, 2 do
  local url, claim = ARGV[i], ARGV[i + 1]
  local mine = redis.call('HMGET', state_key(url), 'claim', 'claim_due', 'fetch_url')
  if mine[1] == claim then
    redis.call('ZADD', schedule_key, 'XX', due and text(due) or mine[2], url)
    redis.call('HDEL', state_key(url), 'claim', 'claim_due', 'claim_part')
    redis.call('HSET', state_key(url), 'won', 'released')
    redis.pcall('HDEL', host_key((gate_of(mine[3] or url))), 's:' .. claim)
    released = released + 1
  end
end
return released
