#!lua
-- uses posts host requests
-- replies integer
-- answers requests
-- Replaces what the operator set for a feed, if it is still what the caller has read. ARGV: prefix, feed_url, settings as
-- read, settings to be ('' = none). Returns 1 = done, 0 = another has changed them since, -1 = no such feed.
local url, before, wanted = ARGV[2], ARGV[3], ARGV[4]
if redis.call('SISMEMBER', feeds_key, url) == 0 then return -1 end
if (redis.call('HGET', state_key(url), 'settings') or '') ~= before then return 0 end
if wanted == '' then redis.call('HDEL', state_key(url), 'settings')
else redis.call('HSET', state_key(url), 'settings', wanted) end
return 1
