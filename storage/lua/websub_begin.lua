#!lua
-- uses posts host push
-- replies array of 3
-- Records the request about to be sent to a hub, so that it can be verified (WEBSUB §3).
-- ARGV: prefix, 'subscribe', hash, feed_url, token, topic, hub, hub_url, secret; or 'unsubscribe', hash.
-- Returns {1 = recorded or 0 = nothing to ask, state of the feed's subscription before, and after}.
local mode, hash, now = ARGV[2], ARGV[3], clock()
local key = callback_key(hash)
if mode == 'unsubscribe' then
  if redis.call('EXISTS', key) == 0 then return {0, '', ''} end
  redis.call('HSET', key, 'mode', mode, 'pending_since', text(now))
  redis.call('HINCRBY', key, 'ends', 1)
  redis.call('ZADD', push_schedule_key, text(now + pending_ms), '#' .. hash)
  return {1, '', ''}
end
local url, hub = ARGV[4], ARGV[7]
if redis.call('SISMEMBER', feeds_key, url) == 0 then
  redis.call('ZREM', push_schedule_key, url)
  return {0, '', ''}
end
redis.call('HSET', key, 'feed_url', url, 'token', ARGV[5], 'topic', ARGV[6], 'hub', hub, 'hub_url', ARGV[8], 'secret', ARGV[9],
           'state', 'pending', 'mode', mode, 'pending_since', text(now))
redis.call('PEXPIRE', key, text(2 * pending_ms))
local from = redis.call('HGET', state_key(url), 'push_state') or ''
local to = (from == '' or from == 'failed' or from == 'denied') and 'pending' or from
redis.call('HSET', state_key(url), 'push_pending', hash, 'push_hub', hub)
turn_push(url, from, to, now)
redis.call('ZADD', push_schedule_key, text(look_by(url, now + pending_ms)), url)
return {1, from, to}
