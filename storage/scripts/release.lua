#!lua flags=allow-oom
-- Gives claims back (RELIABILITY L9). ARGV: prefix, then feed_url, claim, due ('' = as before) in turn. Returns how many
-- were still held.
local released = 0
for i = 2, #ARGV, 3 do
  local url, claim, due = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local mine = redis.call('HMGET', state_key(url), 'claim', 'claim_due', 'fetch_url')
  if mine[1] == claim then
    redis.call('ZADD', schedule_key, 'XX', due ~= '' and due or mine[2], url)
    redis.call('HDEL', state_key(url), 'claim', 'claim_due', 'claim_part')
    redis.call('HSET', state_key(url), 'won', 'released')
    redis.call('HDEL', host_key(host_of(mine[3] or url)), 's:' .. claim)
    released = released + 1
  end
end
return released
