#!lua
-- uses posts host push requests
-- replies integer
-- answers requests
-- Replaces a feed's operator settings, if they are still as the caller read them. ARGV: prefix, feed_url, settings as
-- read, new settings ('' = none), 1 = check its subscription now, because they choose another hub (WEBSUB D5). Forgets
-- the feed's learned volatile parts. Returns 1 = done, 0 = changed since, -1 = no such feed.
local url, before, wanted = ARGV[2], ARGV[3], ARGV[4]
if redis.call('SISMEMBER', feeds_key, url) == 0 then return -1 end
if (redis.call('HGET', state_key(url), 'settings') or '') ~= before then return 0 end
if ARGV[5] == '1' then redis.call('ZADD', push_schedule_key, 'LT', text(clock()), url) end
redis.call('DEL', volatile_key(url))
if wanted == '' then redis.call('HDEL', state_key(url), 'settings')
else redis.call('HSET', state_key(url), 'settings', wanted) end
return 1
