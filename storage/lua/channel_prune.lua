#!lua flags=allow-oom
-- uses posts deliver
-- replies array of 2
-- One bounded step through a channel's timeline ('posts'), index ('all') or read marks ('read'). Removes posts that do
-- not belong to a feed of the channel, and removed posts; the read mark of a removed post stays for its 7 days.
-- ARGV: prefix, uid, 'posts' | 'all' | 'read', first rank, how many. Returns {examined, removed}.
local uid, which, first, count = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local key = which == 'read' and channel_read_key(uid) or which == 'all' and index_key(uid) or timeline_key(uid)
local ids = redis.call('ZRANGE', key, first, first + count - 1)
local removed = 0
for _, id in ipairs(ids) do
  local url = redis.call('HGET', id, 'feed_url')
  if url and redis.call('SISMEMBER', channel_feeds_key(uid), url) == 0 or not url and which ~= 'read' then
    redis.call('ZREM', key, id)
    removed = removed + 1
  elseif not url and not redis.call('ZSCORE', gone_key, id .. ' ' .. uid) then
    redis.call('ZADD', gone_key, text(clock()), id .. ' ' .. uid)
  end
end
return {#ids, removed}
