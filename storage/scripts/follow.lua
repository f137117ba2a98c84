#!lua
-- Marks a feed whose refreshes somebody follows: claims hand the mark out with the rest of its state, commits leave it.
-- ARGV: prefix, feed_url, for ms. Returns until when, 0 = no such feed.
local url, span = ARGV[2], tonumber(ARGV[3])
if redis.call('SISMEMBER', feeds_key, url) == 0 then return '0' end
local before = tonumber(redis.call('HGET', state_key(url), 'trace_until') or nil) or 0
local till = math.max(before, clock() + span)  -- another who follows it may have longer
redis.call('HSET', state_key(url), 'trace_until', text(till))
return text(till)
