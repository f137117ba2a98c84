#!lua
-- uses posts host push
-- replies array of 2
-- Records a push for a subscription (WEBSUB P2) before it is answered. ARGV: prefix, hash of the token, 'fat' (its
-- content is about to be read: the fetch is the safety net), 'thin' (a hint) or 'bad' (ignored, but counted).
-- Returns {'unknown' | 'retired' | 'noted', when it will be fetched at the latest, 0 = not because of this}.
local key, kind = callback_key(ARGV[2]), ARGV[3]
local is = redis.call('HMGET', key, 'feed_url', 'state', 'lease_end')
local url, now = is[1], clock()
if not url or is[2] == 'pending' then return {'unknown', '0'} end
if is[2] == 'retired' or now > (tonumber(is[3]) or 0) + overlap_ms or redis.call('SISMEMBER', feeds_key, url) == 0 then
  return {'retired', '0'}
end
if kind == 'bad' then
  redis.call('HINCRBY', key, 'bad', 1)
  return {'noted', '0'}
end
local barren = tonumber(redis.call('HGET', state_key(url), 'push_barren') or nil) or 0
-- Content counts only once it has brought news: a hub that repeats itself gets no credit for what polls find.
if kind ~= 'fat' then redis.call('HSET', state_key(url), 'push_at', text(now)) end
local at
if kind == 'fat' then
  at = due_by(url, now, now + net_ms, 'websub_push', true)
  if at then redis.call('HINCRBY', state_key(url), 'push_nets', 1) end
elseif barren < 3 then
  at = hint(url, now, 'push_tat', 60000, 3, 'websub_push')
else  -- WEBSUB P6: pushes without news cause fewer fetches
  at = hint(url, now, 'push_tat', barren < 6 and 300000 or 3600000, 1, 'websub_push')
end
return {'noted', text(at or 0)}
