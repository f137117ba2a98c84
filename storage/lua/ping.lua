#!lua
-- uses posts host push
-- replies text
-- Somebody says that a feed has changed (OPERATIONS §6): a hint, worth one fetch per spacing.
-- ARGV: prefix, feed_url, spacing ms. Returns when it will be fetched, 0 = not by this hint, -1 = no such feed.
local url, spacing = ARGV[2], tonumber(ARGV[3])
if redis.call('SISMEMBER', feeds_key, url) == 0 then return '-1' end
return text(hint(url, clock(), 'ping_tat', spacing, 1, 'ping') or 0)
