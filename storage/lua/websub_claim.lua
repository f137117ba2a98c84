#!lua
-- uses posts host push
-- replies array
-- Claims a feed to write pushed content (WEBSUB P4): no request is made, so no gate is passed. A hint waiting for its
-- fetch continues to wait after it, as do other pushes yet to be written.
-- ARGV: prefix, feed_url, claim, lease ms. Returns {now, due time without the push, {state…}}, {} if it is already
-- claimed, paused, in quarantine, suspected of having killed a worker, never read, or unknown.
local url, claim, lease = ARGV[2], ARGV[3], tonumber(ARGV[4])
local now = clock()
local due, line = due_of(url)
local is = redis.call('HMGET', state_key(url), 'claim', 'state', 'strikes', 'push_due', 'held', 'last_at', 'push_hint',
                      'push_nets')
if not due or (is[1] and due > now) or is[2] == 'quarantined' or is[3] or not is[6] then return {} end
schedule_at(url, now + lease, line)
local was_due = is[4] or is[5] or text(due)
redis.call('HSET', state_key(url), 'claim', claim, 'claim_due', was_due, 'strikes', 1)
local wake, nets = is[7], tonumber(is[8] or nil) or 0
if nets > 1 and not (wake and tonumber(string.match(wake, '^(%d+)')) <= now + net_ms) then
  wake = text(now + net_ms) .. ' websub_push'
end
if nets > 1 then redis.call('HINCRBY', state_key(url), 'push_nets', -1)
elseif nets == 1 then redis.call('HDEL', state_key(url), 'push_nets') end
if wake then redis.call('HSET', state_key(url), 'push_wake', wake) end
redis.call('HDEL', state_key(url), 'held', 'claim_part', 'claim_hosts', 'plain')
return {text(now), was_due, redis.call('HGETALL', state_key(url))}
