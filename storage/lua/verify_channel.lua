#!lua flags=no-writes
-- uses posts deliver verify
-- replies array of 1
-- Checks the data that delivery derives, in bounded steps (RELIABILITY I4, L15, L16). Writes nothing. Skips posts of
-- records not yet applied.
-- ARGV: prefix, then one of:
--   'channel', uid                          Returns {findings}
--   'members', uid, cursor, how many        its feeds. Returns {findings, '', next cursor ('' = done), feeds}
--   'feed', uid, feed_url                   its posts in the channel. Returns {findings, lag}
--   'titles', uid, cursor, how many         the titles it gives to feeds. Returns {findings, '', next cursor}
--   'timeline' | 'index' | 'read', uid, cursor, how many      Returns {findings, lag, next cursor ('' = done)}
--   'holders', feed_url, cursor, how many   the channels that its keys list. Returns {findings, '', next cursor}
--   'notices', user · 'watcher', user       Returns {findings}
-- lag: when the oldest record not applied was written, ms; followed by ' unseen' if that prevented any comparison; '' =
-- all are applied.
local what, uid = ARGV[2], ARGV[3]
local function is_of_type(key, wanted, invariant)
  local found = type_of(key)
  if found == 'none' or found == wanted then return true end
  find(invariant, 'type', '', {key}, 'is a ' .. found .. ', not a ' .. wanted)
  return false
end

if what == 'notices' then
  local order, values = notice_order_key(uid), notices_key(uid)
  if not is_of_type(order, 'list', 'L16') or not is_of_type(values, 'hash', 'L16') then return {findings} end
  local ids, all = redis.call('LRANGE', order, 0, -1), redis.call('HGETALL', values)
  local value, wanted, stands, changes = {}, {}, {}, {}
  for i = 1, #all, 2 do value[all[i]] = all[i + 1] end
  for _, id in ipairs(ids) do
    if value[id] and not stands[id] and #wanted < 30 then
      wanted[#wanted + 1] = id
      stands[id] = true
    end
  end
  if #wanted ~= #ids then changes[1] = {'list', order, '', cjson.encode(ids), cjson.encode(wanted)} end
  for id, one in pairs(value) do
    if not stands[id] then changes[#changes + 1] = hdel(values, id, one) end
  end
  if #changes > 0 then
    find('L16', 'notices', '', {order, values}, #ids .. ' in the list, ' .. #all / 2 .. ' in the hash, ' .. #wanted .. ' of them valid (at most 30)',
         changes)
  end
  return {findings}
elseif what == 'watcher' then
  if not is_of_type(watches_key(uid), 'hash', 'L16') then return {findings} end
  local rules, listed = redis.call('EXISTS', watches_key(uid)) == 1, redis.call('SISMEMBER', watchers_key, uid) == 1
  if rules ~= listed then
    find('L16', 'watcher', '', {watchers_key, watches_key(uid)}, rules and 'has rules but is missing from the set of users with rules' or 'is in the set of users with rules but has none',
         {rules and sadd(watchers_key, uid) or srem(watchers_key, uid)})
  end
  return {findings}
elseif what == 'holders' then
  local holders = holders_key(uid)
  if not is_of_type(holders, 'set', 'I4') then return {findings, '', ''} end
  local page = redis.call('SSCAN', holders, ARGV[4], 'COUNT', ARGV[5])
  for _, channel in ipairs(page[2]) do
    if type_of(channel_feeds_key(channel)) ~= 'set' or redis.call('SISMEMBER', channel_feeds_key(channel), uid) == 0 then
      find('I4', 'holders.stray', uid, {holders, channel_feeds_key(channel)}, 'lists channel ' .. shown(channel) .. ', which does not contain the feed',
           {srem(holders, channel)})
    end
  end
  return {findings, '', page[1] == '0' and '' or page[1]}
end

local feeds, posts, marks, index = channel_feeds_key(uid), timeline_key(uid), channel_read_key(uid), index_key(uid)
local titles = channel_titles_key(uid)
local sound = is_of_type(feeds, 'set', 'I4')
sound = is_of_type(posts, 'zset', 'I4') and sound
sound = is_of_type(marks, 'zset', 'I4') and sound
sound = is_of_type(index, 'zset', 'I4') and sound
sound = is_of_type(titles, 'hash', 'I4') and sound
sound = is_of_type(channel_order_key(uid), 'string', 'I4') and sound
if not sound then return {findings, '', '', {}} end

if what == 'channel' then
  if redis.call('SISMEMBER', channels_key, uid) == 0 then
    local keys = {}
    for _, key in ipairs({channel_order_key(uid), feeds, posts, marks, index, titles}) do
      if redis.call('EXISTS', key) == 1 then keys[#keys + 1] = key end
    end
    if #keys > 0 then
      find('I13', 'channel.orphan', '', keys, 'keys of a channel that does not exist', {{'remove_channel', channels_key, uid, false, false}})
    end
    return {findings}
  end
  local place = redis.call('GET', channel_order_key(uid))
  if not whole(place) then
    find('I4', 'channel.order', '', {channel_order_key(uid)}, 'the position of the channel is ' .. shown(place),
         {set(channel_order_key(uid), place, text(redis.call('SCARD', channels_key)))})
  end
  return {findings}
elseif what == 'members' then
  if redis.call('SISMEMBER', channels_key, uid) == 0 then return {findings, '', '', {}} end  -- reported as a whole
  local page = redis.call('SSCAN', feeds, ARGV[4], 'COUNT', ARGV[5])
  for _, url in ipairs(page[2]) do
    if type_of(holders_key(url)) ~= 'set' or redis.call('SISMEMBER', holders_key(url), uid) == 0 then
      find('I4', 'holders.missing', url, {holders_key(url), feeds}, 'the feed is in channel ' .. shown(uid) .. ' but does not list it',
           type_of(holders_key(url)) ~= 'string' and {sadd(holders_key(url), uid)})
    end
  end
  return {findings, '', page[1] == '0' and '' or page[1], page[2]}
end

if what == 'titles' then
  local step = redis.call('HSCAN', titles, ARGV[4], 'COUNT', ARGV[5])
  for i = 1, #step[2], 2 do
    local url = step[2][i]
    if redis.call('SISMEMBER', feeds, url) == 0 then
      find('I4', 'title.stray', url, {titles, feeds}, 'has a title in channel ' .. shown(uid) .. ' but is not in it',
           {hdel(titles, url, step[2][i + 1])})
    end
  end
  return {findings, '', step[1] == '0' and '' or step[1]}
end

-- Events not yet applied.
local applied = redis.call('GET', delivered_key('timelines')) or '0-0'
local newest = redis.call('HGET', meta_key, 'last_signal') or '0-0'
local is_built = are_indexes_kept(applied) and string.sub(floor_of(uid), 1, 1) ~= '~'
if what == 'index' and not is_built then return {findings, '', ''} end
local under_way, behind = {}, ''
if after(newest, applied) then
  local first = redis.call('XRANGE', signals_key, '-', '+', 'COUNT', 1)[1]
  local before = first and string.match(first[2][4] or '', '"prev":"([%d-]*)"')
  local records = redis.call('XRANGE', signals_key, '(' .. applied, '+', 'COUNT', 2001)
  behind = string.match((records[1] or {newest})[1], '^%d+')
  if not first or not before or after(before, applied) or #records > 2000 then return {findings, behind .. ' unseen', ''} end
  for _, record in ipairs(records) do
    local id = string.match(record[2][4] or '', '"entity_id":"([^"]*)"')
    if id then under_way[id] = true end
  end
end

if what == 'feed' then
  local url = ARGV[4]
  if redis.call('SISMEMBER', feeds, url) == 0 or type_of(sort_key(url)) ~= 'zset' then return {findings, ''} end
  local ids = redis.call('ZRANGE', sort_key(url), 0, -1, 'WITHSCORES')
  local any_read, floor = redis.call('EXISTS', marks) == 1, floor_of(uid)
  local function check_index(id, score)
    local there, wanted = redis.call('ZSCORE', index, id), is_above(floor, score, id) and score
    if there == wanted then return end
    find('I4', not there and 'index.missing' or wanted and 'index.score' or 'index.fallen', url, {index, sort_key(url)},
         id .. ' has the score ' .. shown(there) .. ' among all posts of the channel, ' .. score .. ' in its feed, and ' ..
         (wanted and 'no post above it was dropped' or 'a post above it was dropped'),
         {wanted and zadd(index, id, there, score) or zrem(index, id, there)})
  end
  for i = 1, #ids, 2 do
    local id, score = ids[i], ids[i + 1]
    local there = redis.call('ZSCORE', posts, id)
    local read = any_read and redis.call('ZSCORE', marks, id)
    if is_built and not under_way[id] then check_index(id, score) end
    if under_way[id] then
      -- delivery will apply it
    elseif read and there then
      find('I4', 'timeline.read', url, {posts, marks}, id .. ' is read but still in the timeline', {zrem(posts, id, there)})
    elseif not read and there ~= score then
      find('I4', there and 'timeline.score' or 'timeline.missing', url, {posts, sort_key(url)},
           id .. (there and ' has the score ' .. there .. ' in the timeline, ' .. score .. ' in its feed' or ' is not in the timeline'),
           {zadd(posts, id, there, score)})
    end
  end
  return {findings, behind}
end

local key = what == 'timeline' and posts or what == 'index' and index or marks
local step = redis.call('ZSCAN', key, ARGV[4], 'COUNT', ARGV[5])
for i = 1, #step[2], 2 do
  local id = step[2][i]
  local score = redis.call('ZSCORE', key, id)
  local url = is_entry(id) and type_of(id) == 'hash' and redis.call('HGET', id, 'feed_url')
  if under_way[id] then
    -- delivery will apply it
  elseif url and redis.call('SISMEMBER', feeds, url) == 0 then
    find('I4', what .. '.foreign', url, {key}, id .. ' does not belong to a feed of the channel', {zrem(key, id, score)})
  elseif not url and what ~= 'read' then
    find('I4', what .. '.gone', '', {key}, id .. ' is in the ' .. what .. ' but is no longer an entry', {zrem(key, id, score)})
  elseif not url and not redis.call('ZSCORE', gone_key, id .. ' ' .. uid) then
    find('I12', 'read.gone', '', {key, gone_key}, id .. ' is marked read but gone, and its mark would never expire',
         {zadd(gone_key, id .. ' ' .. uid, false, text(clock()))})
  elseif url and what ~= 'read' and not zscore(sort_key(url), id) then
    find('I4', what .. '.stray', url, {key, sort_key(url)}, id .. ' is in the ' .. what .. ' but not in its feed', {zrem(key, id, score)})
  end
end
return {findings, behind, step[1] == '0' and '' or step[1]}
