#!lua flags=allow-oom
-- uses posts digests host trim
-- replies array of 2
-- One bounded step of trimming a feed on request. ARGV: prefix, channel prefix, feed_url, its JSON text, stream cap,
-- publish trims (1/0), number of posts to keep, oldest second to keep, bytes to keep ('-' = no such limit).
-- Returns {trimmed, more to do (1/0)}; -1 = no such feed.
local channel_prefix, url, url_json, stream_cap, publish_trims = unpack(ARGV, 2, 6)
if redis.call('SISMEMBER', feeds_key, url) == 0 then return {-1, 0} end
local unfit = unfit_to_delete(url)
if unfit then return unfit end
local now = clock()
local signal, finish_signals = signal_writer(now, stream_cap, true)
local trimmed, more = trim(url, url_json, tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), 0, now, signal,
                           publish_trims == '1' and channel_prefix .. 'post_deleted')
write_digests(url, '')
finish_signals()
return {trimmed, more and 1 or 0}
