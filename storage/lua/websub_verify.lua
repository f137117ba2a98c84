#!lua
-- uses posts host push
-- replies array of 4
-- A hub verifies or denies a request (WEBSUB S7, L2).
-- ARGV: prefix, hash of the token, mode, topic, lease ms, renewal after ms, reason of a denial.
-- Returns {1 = confirmed and stored, 0 = not requested; feed_url, state before, and after}.
local hash, mode, topic, lease, renew, note = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local key, now = callback_key(ARGV[2]), clock()
local is = redis.call('HMGET', key, 'feed_url', 'topic', 'state', 'mode', 'pending_since', 'hub')
local url = is[1]
if not url or is[2] ~= topic then return {0, '', '', ''} end
local pending = is[4] == mode and now <= (tonumber(is[5]) or 0) + pending_ms

if mode == 'unsubscribe' then
  if not pending then return {0, '', '', ''} end
  redis.call('HSET', key, 'state', 'retired', 'mode', '')
  redis.call('PEXPIRE', key, text(30 * day_ms))
  redis.call('ZREM', push_schedule_key, '#' .. hash)
  return {1, url, '', ''}
end
if redis.call('SISMEMBER', feeds_key, url) == 0 then return {0, '', '', ''} end
local mine = redis.call('HMGET', state_key(url), 'push_state', 'push_token', 'push_pending', 'push_denials')
local from = mine[1] or ''

if mode == 'denied' then
  if hash ~= mine[2] and hash ~= mine[3] then return {0, '', '', ''} end
  if is[3] == 'pending' then redis.call('DEL', key) else redis.call('HSET', key, 'state', 'retired', 'mode', '') end
  local times = tonumber(mine[4]) or 0
  redis.call('HSET', state_key(url), 'push_denials', times + 1, 'push_note', note)
  if hash == mine[2] then redis.call('HDEL', state_key(url), 'push_token') end
  redis.call('HDEL', state_key(url), 'push_pending')
  turn_push(url, from, 'denied', now)
  redis.call('ZADD', push_schedule_key, text(now + day_ms * math.min(90, 7 * 2 ^ math.min(times, 4))), url)
  if from == 'healthy' then due_by(url, now, now, 'websub_fallback') end
  return {1, url, from, 'denied'}
end

if mode ~= 'subscribe' or not pending then return {0, '', '', ''} end
redis.call('HSET', key, 'state', 'active', 'mode', '', 'lease_end', text(now + lease), 'renew_at', text(now + renew))
redis.call('PEXPIRE', key, text(lease + 31 * day_ms))
local before = mine[2]
if before and before ~= hash then
  local other = redis.call('HMGET', callback_key(before), 'hub', 'topic')
  if other[1] ~= is[6] or other[2] ~= topic then  -- WEBSUB D5: the new one is active, so end the old one
    retire(before, now)
  end
end
redis.call('HSET', state_key(url), 'push_token', hash)
redis.call('HDEL', state_key(url), 'push_pending', 'push_denials', 'push_note')
local to = (from == 'healthy' or from == 'doubtful' or from == 'unproven') and from or 'unproven'
if from ~= to then
  redis.call('HSET', state_key(url), 'push_verified', text(now))
else
  redis.call('HDEL', state_key(url), 'push_tries')  -- a renewal; otherwise pushes must first prove that retrying was
                                                    -- worthwhile
end
turn_push(url, from, to, now)
redis.call('ZADD', push_schedule_key, text(now + renew), url)
return {1, url, from, to}
