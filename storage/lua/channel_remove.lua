#!lua flags=allow-oom
-- uses posts orphans deliver requests
-- replies array of 2
-- answers requests
-- One bounded step of deleting a channel with all that is kept for it. Resumable: what is left of one that was
-- interrupted goes as well. ARGV: prefix, uid. Returns {1 = something was there, 1 = more to do}.
local uid, step = ARGV[2], 1000
local known = redis.call('SREM', channels_key, uid) +
              redis.call('EXISTS', channel_feeds_key(uid), channel_read_key(uid), timeline_key(uid), channel_order_key(uid),
                         index_key(uid))
if known == 0 then return {0, 0} end
local feeds = redis.call('SMEMBERS', channel_feeds_key(uid))
local now = clock()
for i = 1, math.min(#feeds, step) do
  if redis.call('SREM', holders_key(feeds[i]), uid) == 1 then note_leaving(feeds[i], now) end
  redis.call('SREM', channel_feeds_key(uid), feeds[i])
end
local marks = redis.call('ZRANGE', channel_read_key(uid), 0, step - 1)
for _, id in ipairs(marks) do
  redis.call('ZREM', gone_key, id .. ' ' .. uid)
  redis.call('ZREM', channel_read_key(uid), id)
end
if #feeds > step or #marks == step then return {1, 1} end
redis.call('UNLINK', timeline_key(uid), channel_order_key(uid), index_key(uid))
redis.call('HDEL', floors_key, uid)
return {1, 0}
