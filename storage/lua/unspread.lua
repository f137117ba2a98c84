#!lua
-- uses posts host
-- replies array of 3
-- Makes feeds due now whose first fetch an import has put off: run --once does not pace (HTTP P12). A bounded step.
-- ARGV: prefix, since when ('' = now; the same in all steps), how many feeds due after that to skip.
-- Returns {since when, feeds looked at, feeds made due}.
local now, skip, step = tonumber(ARGV[2]) or clock(), ARGV[3], 1000
local spread_until = tonumber(redis.call('HGET', meta_key, 'spread_until')) or 0
if spread_until <= now then return {text(now), 0, 0} end
local feeds = redis.call('ZRANGEBYSCORE', schedule_key, '(' .. text(now), text(spread_until), 'LIMIT', skip, step)
local moved = 0
for _, url in ipairs(feeds) do
  local mine = redis.pcall('HMGET', state_key(url), 'won', 'claim')
  if mine[1] == 'spread' and not mine[2] then
    redis.call('ZADD', schedule_key, 'XX', text(due_among(#feeds, url, now)), url)
    redis.call('HSET', state_key(url), 'won', 'first')
    moved = moved + 1
  end
end
return {text(now), #feeds, moved}
