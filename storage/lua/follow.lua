#!lua
-- uses posts host
-- replies text
-- Marks a feed for tracing: claims hand out the mark with the feed's state, commits keep it.
-- ARGV: prefix, feed_url, for ms, end of the caller's previous mark or 0. For 0 ms: removes the caller's mark unless
-- another caller has marked the feed for longer. Returns when the caller's mark ends, 0 = no such feed.
local url, span, own = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('SISMEMBER', feeds_key, url) == 0 then return '0' end
local before = tonumber(redis.call('HGET', state_key(url), 'trace_until') or nil) or 0
if span == 0 then
  if before > own then return '0' end
  redis.call('HDEL', state_key(url), 'trace_until')
  redis.call('PEXPIRE', trace_key(url), 2000)  -- other callers will have read it by then
  return '0'
end
local till = clock() + span
redis.call('HSET', state_key(url), 'trace_until', text(math.max(before, till)))  -- another caller's may be longer
return text(till)
