#!lua
-- Claims one feed to write what was pushed for it (WEBSUB P4): no request is made, so no gate is passed.
-- A hint that waits for its fetch goes on waiting after it.
-- ARGV: prefix, feed_url, claim, lease ms. Returns {now, due time without the push, {state…}}, {} when it is claimed
-- already, paused, in quarantine, suspected of having killed a worker, never read, or unknown.
local url, claim, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local now = clock()
local due = tonumber(redis.call('ZSCORE', schedule_key, url) or nil)
local is = redis.call('HMGET', state_key(url), 'claim', 'state', 'strikes', 'push_due', 'held', 'last_at', 'push_hint')
if not due or (is[1] and due > now) or is[2] == 'quarantined' or is[3] or not is[6] then return {} end
redis.call('ZADD', schedule_key, 'XX', text(now + lease), url)
local was_due = is[4] or is[5] or text(due)
redis.call('HSET', state_key(url), 'claim', claim, 'claim_due', was_due, 'strikes', 1)
if is[7] then redis.call('HSET', state_key(url), 'push_wake', is[7]) end
redis.call('HDEL', state_key(url), 'held', 'claim_part', 'claim_hosts')
return {text(now), was_due, redis.call('HGETALL', state_key(url))}
