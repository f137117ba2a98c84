#!lua flags=allow-oom
-- uses posts slots host orphans push requests
-- replies integer
-- answers requests
-- One bounded step of removing a feed (RELIABILITY L17). ARGV: prefix, channel prefix, feed_url, its JSON text, stream
-- cap, step: 'begin' removes it from the feeds, the schedule and its host's slots, signals the removal, and leaves the
-- marks that the last step removes; 'orphan' does so only if it has been paused as an orphan for the number of ms given
-- after the step; 'resume' continues a removal that has begun, never for a registered feed; 'go on' removes up to 100
-- posts, and with the last post everything else.
-- Returns 0 = unknown, 1 = more to do, 2 = removed, 3 = take it out of its channels first.
local channel_prefix, url, url_json, stream_cap, step = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local feed_state = state_key(url)
-- Whether the removal may be published (WEBSUB U15): 'yes' and 'no' as in the feed's settings, 'public' if anyone could
-- fetch it. Recorded now, because nothing shows it once the feed is removed.
local function republishing()
  local mine = redis.call('HMGET', feed_state, 'settings', 'exposure', 'fetch_url')
  local is_read, settings = pcall(cjson.decode, mine[1] or '{}')
  if not is_read or type(settings) ~= 'table' then return 'no' end
  if settings.republish == 'yes' or settings.republish == 'no' then return settings.republish end
  local may_hold_a_secret = string.find(mine[3] or '', '[?@]')
  if settings.auth or settings.headers or settings.policy or mine[2] ~= 'public' or may_hold_a_secret then return 'no' end
  return 'public'
end
if step == 'orphan' then
  local since = is_orphan(url) and tonumber(redis.call('ZSCORE', orphans_key, url) or nil)
  local mine = redis.call('HMGET', feed_state, 'state', 'orphaned')
  if not since or since > clock() - tonumber(ARGV[7]) or mine[1] ~= 'paused' or not mine[2] then return 0 end
end
if (step == 'begin' or step == 'orphan') and redis.call('SISMEMBER', feeds_key, url) == 1 then
  local now = clock()
  local signal, finish_signals = signal_writer(now, stream_cap, true)
  redis.call('SREM', feeds_key, url)
  redis.call('SADD', removals_key, url)
  count_state(url, redis.call('HGET', feed_state, 'state') or 'new')
  redis.call('HSET', feed_state, 'removing', '1')
  leave_hub(url, now)
  local mine = redis.call('HMGET', feed_state, 'claim', 'fetch_url', 'claim_hosts')
  if mine[1] then  -- its worker will find the claim gone; the host's slot must not wait for the lease to end
    redis.call('HDEL', feed_state, 'claim')
    free_slots(mine[1], gate_of(mine[2] or url), mine[3])
  end
  signal('feed_removed', 'feed', url_json, '"action":"deleted","timestamp":' .. text(math.floor(now / 1000)) ..
         ',"feed_url":' .. url_json .. ',"data":{"republish":"' .. republishing() .. '"}}', channel_prefix .. 'feed_removed')
  finish_signals()
elseif not redis.call('HGET', feed_state, 'removing') then
  redis.call('SREM', removals_key, url)
  return 0
end
local _, line = due_of(url)
if line then leave_line(url, line) end
redis.call('ZREM', schedule_key, url)
redis.pcall('ZREM', by_url_key, url)
redis.call('ZREM', quarantine_key, url)
redis.pcall('ZREM', orphans_key, url)
if step ~= 'go on' then return 1 end
for _, pair in ipairs(post_keys(url)) do  -- a broken key must not prevent the removal
  local found = redis.call('TYPE', pair[1])['ok']
  if found ~= 'none' and found ~= pair[2] then redis.call('UNLINK', pair[1]) end
end

local now = clock()
local signal, finish_signals = signal_writer(now, stream_cap, true)
for _, id in ipairs(redis.call('ZRANGE', sort_key(url), 0, 99)) do
  local guid_json = delete_post(url, id)
  signal('post_trimmed', 'post', '"' .. id .. '"', deletion(now, url_json, guid_json, 'feed_removed'))
end
finish_signals()
if redis.call('EXISTS', sort_key(url)) == 1 then return 1 end
if redis.call('EXISTS', holders_key(url)) == 1 then return 3 end
redis.call('UNLINK', guidmap_key(url), tombs_key(url), feed_key(url), trace_key(url), items_key(url), volatile_key(url),
           feed_state)
redis.call('SREM', removals_key, url)
return 2
