#!lua flags=allow-oom
-- uses posts orphans deliver requests
-- replies array of 3
-- answers requests
-- One bounded step of deleting a channel with all its data. Resumable: also removes the rest of an interrupted
-- deletion. ARGV: prefix, uid, cursor in its feeds ('0' = start).
-- Returns {1 = there was something, 1 = more to do, next cursor}.
local uid, step = ARGV[2], 300
local known = redis.call('SREM', channels_key, uid) +
              redis.call('EXISTS', channel_feeds_key(uid), channel_read_key(uid), timeline_key(uid), channel_order_key(uid),
                         index_key(uid), channel_titles_key(uid))
if known == 0 then return {0, 0, '0'} end
local page = redis.call('SSCAN', channel_feeds_key(uid), ARGV[3], 'COUNT', step)
local now = clock()
for _, url in ipairs(page[2]) do
  if redis.call('SREM', holders_key(url), uid) == 1 then note_leaving(url, now) end
  redis.call('SREM', channel_feeds_key(uid), url)
end
local marks = redis.call('ZRANGE', channel_read_key(uid), 0, step - 1)
for _, id in ipairs(marks) do
  redis.call('ZREM', gone_key, id .. ' ' .. uid)
  redis.call('ZREM', channel_read_key(uid), id)
end
if redis.call('EXISTS', channel_feeds_key(uid)) == 1 or #marks == step then return {1, 1, page[1]} end
redis.call('UNLINK', timeline_key(uid), channel_order_key(uid), index_key(uid), channel_titles_key(uid))
redis.call('HDEL', floors_key, uid)
return {1, 0, '0'}
