#!lua flags=allow-oom
-- uses posts digests host requests
-- replies integer
-- answers requests
-- Deletes one post for an operator: its tombstone keeps it away while the feed lists it. ARGV: prefix, channel prefix,
-- stream cap, id. Returns 1 = deleted, 0 = no such post.
local channel_prefix, stream_cap, id = ARGV[2], ARGV[3], ARGV[4]
local url = redis.call('HGET', id, 'feed_url')
if not url then return 0 end
local unfit = unfit_to_delete(url)
if unfit then return unfit end
local now = clock()
local signal, finish_signals = signal_writer(now, stream_cap, true)
local guid_json, guid = delete_post(url, id)
write_digests(url, '')
if redis.call('SISMEMBER', feeds_key, url) == 0 then
  redis.call('HDEL', state_key(url), 'bytes')  -- the feed is being removed, or is gone
elseif guid then
  redis.call('ZADD', tombs_key(url), '+inf', guid)
end
signal('post_deleted', 'post', '"' .. id .. '"', deletion(now, cjson.encode(url), guid_json, 'operator'),
       channel_prefix .. 'post_deleted')
finish_signals()
return 1
