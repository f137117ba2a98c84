#!lua
-- uses posts digests host orphans
-- replies text or integer
-- One bounded step of importing a feed. Until its last step the feed counts as one with an interrupted removal: the
-- rest of a failed import is removed like that, and no worker gets the feed to refresh. state:imports lists feeds being
-- imported, by the time of the last step: while a feed is listed, its removal is not finished, and its channels and
-- topic wait for it.
-- ARGV: prefix, then one of:
--   'open', archive, counter, id of its store ('' = unknown), its newest event
--                                   whether numbers are kept: the store is empty, or this archive was begun before. It
--                                   then becomes that store again, and event ids continue after the newest. Returns 1
--                                   or 0
--   'behind', archive, counter      for a partition other than the one that keeps the archive's numbers: whether it
--                                   assigns only higher numbers. Returns 1 or 0
--   'close', archive, highest entry number, after which the partition that keeps the archive's numbers continues
--   'begin', feed_url, 1 = replace  Returns 'ok', 'known' (it is a feed), 'replace' (it is: remove its posts first),
--                                   'begun' (an import has left posts: remove them first) or 'left' (other data of it
--                                   exists)
--   'entries', feed_url, 1 = keep numbers, channel prefix, stream cap, then number, score, signal, counted fields …
--                                   Returns 'ok', or the obstacle
--   'tombs', feed_url, counted tombstones
--   'end', feed_url, due ('' = paused), quarantined since ('' = not), channel prefix, stream cap, its JSON text,
--                                   counted state, readers' record and events, which are a type and a tail. Returns
--                                   'followed' if channels contain it
--   'left', ms                      abandons up to 100 imports with an older last step. Returns how many
local what, url = ARGV[2], ARGV[3]
local imports_key = prefix .. 'state:imports'
if what == 'open' then
  local begun = redis.call('HGET', meta_key, 'importing')
  if begun ~= url then
    local is_counted = redis.call('EXISTS', counter_key) == 1 and redis.call('HGET', meta_key, 'behind') ~= url
    if begun or is_counted or redis.call('EXISTS', feeds_key, signals_key) > 0 then return 0 end
    redis.call('HSET', meta_key, 'importing', url)
    if (redis.call('HGET', meta_key, 'partitions') or '1') ~= '1' then redis.call('HSET', meta_key, 'behind', url) end
    if ARGV[5] ~= '' then redis.call('HSET', meta_key, 'id', ARGV[5]) end
    if ARGV[4] ~= '0' then redis.call('SET', counter_key, ARGV[4]) end
    if ARGV[6] ~= '0-0' then redis.call('HSET', meta_key, 'signals_from', ARGV[6]) end
  end
  return 1
elseif what == 'behind' then
  if redis.call('HGET', meta_key, 'behind') == url then return 1 end
  if redis.call('EXISTS', counter_key) == 1 then return 0 end
  redis.call('HSET', meta_key, 'behind', url)
  redis.call('SET', counter_key, ARGV[4])
  return 1
elseif what == 'close' then
  if redis.call('HGET', meta_key, 'importing') ~= url then return 0 end
  redis.call('HDEL', meta_key, 'importing')
  if tonumber(redis.call('GET', counter_key) or 0) < tonumber(ARGV[4]) then redis.call('SET', counter_key, ARGV[4]) end
  return 1
elseif what == 'left' then
  local old = redis.call('ZRANGEBYSCORE', imports_key, '-inf', text(clock() - tonumber(ARGV[3])), 'LIMIT', 0, 100)
  for _, one in ipairs(old) do
    redis.call('ZREM', imports_key, one)
    if redis.call('SISMEMBER', feeds_key, one) == 0 then  -- also if only its topic is left
      redis.call('HSET', state_key(one), 'removing', '1')
      redis.call('SADD', removals_key, one)
    end
  end
  return #old
elseif what == 'begin' then
  local is_known = redis.call('SISMEMBER', feeds_key, url) == 1
  if is_known and ARGV[4] ~= '1' then return 'known' end
  local family = {feed_key(url), sort_key(url), guidmap_key(url), tombs_key(url), items_key(url), volatile_key(url),
                  state_key(url)}
  if not is_known and redis.call('EXISTS', unpack(family)) > 0 then
    if not redis.call('ZSCORE', imports_key, url) or redis.call('HGET', state_key(url), 'leaving') then return 'left' end
    if redis.call('EXISTS', sort_key(url)) == 1 then return 'begun' end
    redis.call('UNLINK', trace_key(url), unpack(family))
  end
  redis.call('ZADD', imports_key, text(clock()), url)
  if is_known then return 'replace' end
  redis.call('SREM', removals_key, url)
  redis.call('HSET', state_key(url), 'removing', '1')
  return 'ok'
end

if redis.call('SISMEMBER', feeds_key, url) == 1 or not redis.call('HGET', state_key(url), 'removing') or
   not redis.call('ZSCORE', imports_key, url) then
  return 'the feed was added or removed during the import'
end
redis.call('ZADD', imports_key, text(clock()), url)
local at
local function take_list()
  local list = {}
  at = at + 1
  for i = 1, tonumber(ARGV[at]) * 2 do list[i] = ARGV[at + i] end
  at = at + #list
  return list
end

if what == 'entries' then
  local keep, channel, cap = ARGV[4] == '1', ARGV[5], ARGV[6]
  local posts, numbers = {}, {}
  at = 6
  while at < #ARGV do
    local post = {number = ARGV[at + 1], score = ARGV[at + 2], signal = ARGV[at + 3]}
    at = at + 3
    post.fields = take_list()
    for i = 1, #post.fields, 2 do post[post.fields[i]] = post.fields[i + 1] end
    if redis.call('HGET', guidmap_key(url), post.guid) then return 'two entries have the same guid' end
    if keep and (numbers[post.number] or redis.call('EXISTS', entry_key(post.number)) == 1) then return 'entry number ' .. post.number .. ' is in use' end
    posts[#posts + 1], numbers[post.number] = post, true
  end
  local now = clock()
  local signal, finish_signals = signal_writer(now, cap, true)
  for _, post in ipairs(posts) do
    local id
    if keep then
      id = entry_key(post.number)
      if tonumber(redis.call('GET', counter_key) or 0) < tonumber(post.number) then redis.call('SET', counter_key, post.number) end
    else
      id = entry_key(next_number())
    end
    redis.call('HSET', id, unpack(post.fields))
    redis.call('HSET', id, 'feed_url', url)
    redis.call('HSET', guidmap_key(url), post.guid, id)
    digest_changes[id] = post.digest
    redis.call('ZADD', sort_key(url), post.score, id)
    signal('post_created', 'post', '"' .. id .. '"', post.signal, channel .. 'post_created')
  end
  write_digests(url, '')
  finish_signals()
  return 'ok'
end

if what == 'tombs' then
  at = 3
  local tombs = take_list()
  for i = 1, #tombs, 2 do redis.call('ZADD', tombs_key(url), tombs[i + 1], tombs[i]) end
  return 'ok'
end

local due, since, channel, cap, url_json = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
at = 8
local state, feed, events = take_list(), take_list(), take_list()
if #feed > 0 then redis.call('HSET', feed_key(url), unpack(feed)) end
redis.call('HSET', state_key(url), unpack(state))
redis.call('HDEL', state_key(url), 'removing', 'leaving', 'line')
if redis.call('HGET', state_key(url), 'texts') then  -- new numbers may change the order (RELIABILITY L34)
  redis.call('HSET', state_key(url), 'texts', redis.call('ZCARD', sort_key(url)))
end
redis.call('ZREM', imports_key, url)
redis.call('SADD', feeds_key, url)
redis.pcall('ZADD', by_url_key, 0, url)
if due ~= '' then redis.call('ZADD', schedule_key, text(math.min(tonumber(due), clock() + 30 * 24 * 3600 * 1000)), url) end
if since ~= '' then redis.call('ZADD', quarantine_key, since, url) end
local now = clock()
count_state(url, nil, redis.call('HGET', state_key(url), 'state') or 'new', now)
note_leaving(url, now)  -- its channels are imported later
local signal, finish_signals = signal_writer(now, cap, #events > 0)
for i = 1, #events, 2 do signal(events[i], 'feed', url_json, events[i + 1], channel .. events[i]) end
finish_signals()
return redis.call('EXISTS', holders_key(url)) == 1 and 'followed' or 'ok'
