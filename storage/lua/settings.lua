#!lua
-- uses posts host push requests
-- replies integer
-- answers requests
-- Replaces what the operator set for a feed, if it is still what the caller has read. ARGV: prefix, feed_url, settings as
-- read, settings to be ('' = none), 1 = its subscription is to be looked after now, for they choose another hub (WEBSUB
-- D5). What was learned to be volatile in its posts is forgotten. Returns 1 = done, 0 = another has changed them since, -1 = no such feed.
local url, before, wanted = ARGV[2], ARGV[3], ARGV[4]
if redis.call('SISMEMBER', feeds_key, url) == 0 then return -1 end
if (redis.call('HGET', state_key(url), 'settings') or '') ~= before then return 0 end
if ARGV[5] == '1' then redis.call('ZADD', push_schedule_key, 'LT', text(clock()), url) end
redis.call('DEL', volatile_key(url))
if wanted == '' then redis.call('HDEL', state_key(url), 'settings')
else redis.call('HSET', state_key(url), 'settings', wanted) end
return 1
