#!lua
-- uses posts host
-- replies text
-- Marks a feed whose refreshes somebody follows: claims hand the mark out with the rest of its state, commits leave it.
-- ARGV: prefix, feed_url, for ms, until when the caller marked it before or 0. For 0 ms: the caller goes, and takes the
-- mark along unless another has marked the feed for longer. Returns until when the caller's mark holds, 0 = no such feed.
local url, span, own = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('SISMEMBER', feeds_key, url) == 0 then return '0' end
local before = tonumber(redis.call('HGET', state_key(url), 'trace_until') or nil) or 0
if span == 0 then
  if before > own then return '0' end
  redis.call('HDEL', state_key(url), 'trace_until')
  redis.call('PEXPIRE', trace_key(url), 2000)  -- another who follows it has read it by then
  return '0'
end
local till = clock() + span
redis.call('HSET', state_key(url), 'trace_until', text(math.max(before, till)))  -- another may have longer
return text(till)
