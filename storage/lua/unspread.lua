#!lua
-- uses posts host
-- replies array of 4
-- Makes feeds due now that an import deferred to spread their first fetches: run --once does not pace (HTTP P12). A
-- bounded step. ARGV: prefix, since when ('' = now; the same in all steps), last due time examined ('' = none), how
-- many feeds with that time were examined and are still due then.
-- Returns {since when, feeds examined, the next two arguments}.
local now, last, behind, step = tonumber(ARGV[2]) or clock(), ARGV[3], tonumber(ARGV[4]), 1000
local spread_until = tonumber(redis.call('HGET', meta_key, 'spread_until')) or 0
if spread_until <= now then return {text(now), 0, '', 0} end
local rows = redis.call('ZRANGEBYSCORE', schedule_key, last == '' and '(' .. text(now) or last, text(spread_until),
                        'WITHSCORES', 'LIMIT', behind, step)
for i = 1, #rows, 2 do
  local url, due = rows[i], rows[i + 1]
  if due ~= last then last, behind = due, 0 end
  local mine = redis.pcall('HMGET', state_key(url), 'won', 'claim')
  if mine[1] == 'spread' and not mine[2] then
    redis.call('ZADD', schedule_key, 'XX', text(due_among(#rows / 2, url, now)), url)
    redis.call('HSET', state_key(url), 'won', 'first')
  else
    behind = behind + 1
  end
end
return {text(now), #rows / 2, last, behind}
