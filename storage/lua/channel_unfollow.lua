#!lua flags=allow-oom
-- uses posts orphans deliver requests
-- replies integer
-- answers requests
-- Takes a feed out of a channel; channel_prune then removes its posts. An index that has been trimmed must be rebuilt,
-- as it has room now. ARGV: prefix, uid, feed_url, '1' = only if it is not (or no longer) a feed.
-- Returns 1 = removed, 0 = not in it, -1 = no such channel.
local uid, url = ARGV[2], ARGV[3]
if ARGV[4] == '1' and redis.call('SISMEMBER', feeds_key, url) == 1 then return 0 end
if redis.call('SREM', holders_key(url), uid) == 1 then note_leaving(url, clock()) end
local removed = redis.call('SREM', channel_feeds_key(uid), url)
redis.call('HDEL', channel_titles_key(uid), url)
if removed == 1 and ARGV[4] == '1' then
  redis.call('HSET', state_key(url), 'leaving', uid)  -- until its posts are removed too (RELIABILITY S15)
end
if removed == 0 and redis.call('SISMEMBER', channels_key, uid) == 0 then return -1 end
if removed == 1 and has_fallen(floor_of(uid)) then redis.call('HSET', floors_key, uid, '~') end
return removed
