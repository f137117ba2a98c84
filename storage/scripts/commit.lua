#!lua
-- The atomic write at the end of a refresh (RELIABILITY L4, L6, L7, L12). All checks come first; nothing after the first
-- write can fail. Part k of n writes complete posts with their signals; only the last writes the feed's own state.
-- ARGV: prefix, channel prefix, feed_url, its JSON text, claim, part, parts, next due, stream cap, publish trims (1/0),
--       keep ('' = no document), grace ms, new posts in later parts (all newer); how the host answered as note_answer
--       has it: host ('' = the feed's own), is, cause, retry_at, marks; URL to move to ('' = none); then four counted
--       lists: state fields, feed fields (name, value; '' removes), guids that left, guids that are back; then counted
--       posts: guid, digest, id ('' = new), score, signal, counted fields to set, counted fields to remove; then counted
--       feed signals: type, signal.
-- A signal is the JSON object without its head, which only this script knows: seq, prev, entity_id.
-- Returns {'ok' | 'dup' | 'stale' | 'type <key>', created, modified, trimmed, tombstoned, records, what became of the
-- host ('closed', 'opened', ''), until when it is closed, whether the URL to move to is a feed already (1/0), what became
-- of the subscription (0 = nothing, 1 = turned as wanted, 2 = and so its hub is in trouble)}. Of the state fields push_turn
-- ('<from> <to>') and push_ask (ms) are none, see push.lua.
local channel_prefix, url, url_json, claim = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local part, parts, next_due = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local stream_cap, publish_trims = ARGV[9], ARGV[10] == '1'
local keep, grace, later = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13])
local answered_by, is, cause, retry_at, marks, move_to = unpack(ARGV, 14, 19)
local at = 19
local function take()
  at = at + 1
  return ARGV[at]
end
local function take_list(width)
  local list = {}
  for i = 1, tonumber(take()) * width do list[i] = take() end
  return list
end

local feed_state = state_key(url)
local mine = redis.call('HMGET', feed_state, 'claim', 'last_claim', 'claim_part', 'state', 'fetch_url', 'wake',
                        'claim_hosts', 'before_pause', 'push_wake', 'push_state')
if mine[1] ~= claim then return {mine[2] == claim and 'dup' or 'stale'} end
local written = tonumber(mine[3]) or 0
if part <= written then return {'dup'} end
if part > written + 1 then return {'part ' .. part .. ' came before part ' .. (written + 1)} end

local sort, map, digests, tombs = sort_key(url), guidmap_key(url), digests_key(url), tombs_key(url)
local answering = answered_by ~= '' and gate_of_host(answered_by) or gate_of(mine[5] or url)
local wanted = {{schedule_key, 'zset'}, {states_key, 'hash'}, {host_key(answering), 'hash'}, {signals_key, 'stream'},
                {meta_key, 'hash'}, {quarantine_key, 'zset'}}
if keep then
  for _, pair in ipairs({{sort, 'zset'}, {map, 'hash'}, {digests, 'hash'}, {tombs, 'zset'}, {feed_key(url), 'hash'},
                         {counter_key, 'string'}}) do
    wanted[#wanted + 1] = pair
  end
end
for _, pair in ipairs(wanted) do
  local found = redis.call('TYPE', pair[1])['ok']
  if found ~= 'none' and found ~= pair[2] then return {'type ' .. pair[1] .. ' is a ' .. found} end
end

local now = clock()
-- The last argument is the number 0 when the feed has no signal of its own.
local signal, finish_signals = signal_writer(now, stream_cap, keep or ARGV[#ARGV] ~= '0')

local state = take_list(2)
local feed = take_list(2)
local left = take_list(1)
local back = take_list(1)

local created, modified, trimmed, tombstoned = 0, 0, 0, 0
local posts = {}
for i = 1, tonumber(take()) do
  local post = {}
  post.guid = take()
  post.digest = take()
  post.id = take()
  post.score = tonumber(take())
  post.signal = take()
  post.set = take_list(2)
  post.unset = take_list(1)
  posts[i] = post
end

if keep then
  -- A post that the trim below would take at once is tombstoned without being created. Posts stand oldest first.
  local fresh = {}
  for _, post in ipairs(posts) do
    if post.id == '' then fresh[#fresh + 1] = post end
  end
  local excess = #fresh > 0 and redis.call('ZCARD', sort) + #fresh + later - keep or 0
  if excess > 0 then
    local oldest = redis.call('ZRANGE', sort, 0, excess - 1, 'WITHSCORES')
    local i, j = 1, 1
    for _ = 1, excess do
      if not fresh[i] then break end
      if oldest[j + 1] and tonumber(oldest[j + 1]) < fresh[i].score then
        j = j + 2
      else
        fresh[i].tombstone = true
        i = i + 1
      end
    end
  end
end

for _, post in ipairs(posts) do
  if post.tombstone then
    redis.call('ZADD', tombs, '+inf', post.guid)
    tombstoned = tombstoned + 1
  elseif post.id == '' and redis.call('HEXISTS', map, post.guid) == 0 then
    local id = entry_key(text(redis.call('INCR', counter_key)))
    redis.call('HSET', id, 'feed_url', url, 'guid', post.guid, 'digest', post.digest, unpack(post.set))
    redis.call('HSET', map, post.guid, id)
    redis.call('HSET', digests, post.guid, post.digest)
    redis.call('ZADD', sort, text(post.score), id)
    signal('post_created', 'post', '"' .. id .. '"', post.signal, channel_prefix .. 'post_created')
    created = created + 1
  elseif post.id ~= '' then
    redis.call('HSET', post.id, 'digest', post.digest, unpack(post.set))
    if #post.unset > 0 then redis.call('HDEL', post.id, unpack(post.unset)) end
    redis.call('HSET', digests, post.guid, post.digest)
    redis.call('ZADD', sort, 'XX', text(post.score), post.id)
    signal('post_modified', 'post', '"' .. post.id .. '"', post.signal, channel_prefix .. 'post_modified')
    modified = modified + 1
  end
end

local host_event, host_until, taken, turned = '', 0, false, 0
if part == parts then
  if keep then
    for _, guid in ipairs(left) do redis.call('ZADD', tombs, 'XX', text(now), guid) end
    for _, guid in ipairs(back) do redis.call('ZADD', tombs, 'XX', '+inf', guid) end
    redis.call('ZREMRANGEBYSCORE', tombs, '-inf', text(now - grace))
    local excess = math.min(redis.call('ZCARD', sort) - keep, 100)
    if excess > 0 then
      for _, id in ipairs(redis.call('ZRANGE', sort, 0, excess - 1)) do
        local guid_json, guid = delete_post(url, id)
        if guid then redis.call('ZADD', tombs, '+inf', guid) end
        local tail = deletion(now, url_json, guid_json, 'trim')
        signal('post_trimmed', 'post', '"' .. id .. '"', tail)
        if publish_trims then signal('post_deleted', 'post', '"' .. id .. '"', tail, channel_prefix .. 'post_deleted') end
        trimmed = trimmed + 1
      end
    end
    local surplus = redis.call('ZCARD', tombs) - 20000
    if surplus > 0 then redis.call('ZREMRANGEBYRANK', tombs, 0, surplus - 1) end
  end

  local old_state = mine[4] or 'new'
  local paused = old_state == 'paused'  -- meanwhile: it stays so, and out of the schedule
  for i = 1, #feed, 2 do
    if feed[i + 1] == '' then redis.call('HDEL', feed_key(url), feed[i])
    else redis.call('HSET', feed_key(url), feed[i], feed[i + 1]) end
  end
  local set, unset = {}, {'claim', 'claim_due', 'claim_part', 'claim_hosts', 'held', 'wake', 'strikes', 'alone',
                          'alone_deaths', 'push_due', 'push_wake'}
  taken = move_to ~= '' and redis.call('SISMEMBER', feeds_key, move_to) == 1  -- HTTP R7: two feeds stay two
  if taken then redis.call('HSET', feed_state, 'no_move_to', move_to) end
  local was = paused and mine[8] or old_state
  for i = 1, #state, 2 do
    if was == 'quarantined' and state[i] == 'state' and state[i + 1] ~= was then
      redis.call('ZREM', quarantine_key, url)
      unset[#unset + 1], unset[#unset + 2] = 'quarantines', 'quarantined_at'
    end
    if paused and (state[i] == 'state' or state[i] == 'won') then
      state[i], state[i + 1] = unpack(state[i] == 'state' and {'before_pause', state[i + 1]} or {'won', 'paused'})
    elseif state[i] == 'state' and state[i + 1] ~= old_state then
      redis.call('HINCRBY', states_key, old_state, -1)
      redis.call('HINCRBY', states_key, state[i + 1], 1)
    end
    if taken and (state[i] == 'fetch_url' or state[i] == 'moves') then
      -- stays as it is
    elseif state[i] == 'push_turn' then
      local from, to = string.match(state[i + 1], '^(%S*) (%S*)$')
      if from == (mine[10] or '') then
        turned = 1 + turn_push(url, from, to, now)
        if to == 'healthy' then redis.call('HDEL', feed_state, 'push_tries') end
        if to == 'failed' then redis.call('HINCRBY', feed_state, 'push_tries', 1) end
      end
    elseif state[i] == 'push_ask' then
      redis.call('ZADD', push_schedule_key, 'LT', state[i + 1], url)
    elseif state[i + 1] == '' then
      unset[#unset + 1] = state[i]
    else
      set[#set + 1] = state[i]
      set[#set + 1] = state[i + 1]
    end
  end
  redis.call('HSET', feed_state, 'last_claim', claim, unpack(set))
  redis.call('HDEL', feed_state, unpack(unset))
  for _ = 1, tonumber(take()) do
    local kind, tail = take(), take()
    if not (taken and kind == 'feed_moved') then signal(kind, 'feed', url_json, tail, channel_prefix .. kind) end
  end
  if mine[6] then next_due = math.min(next_due, now) end
  if mine[9] then next_due = after_push(url, now, next_due, mine[9]) end
  redis.call('ZADD', schedule_key, 'XX', text(next_due), url)
  if paused then redis.call('HSET', feed_state, 'paused_due', text(next_due)) end
  local first = gate_of(mine[5] or url)  -- it has answered too, by a redirect
  if answering ~= first then note_answer(read_host(first, now), url, claim, now, 'served', '', 0, '') end
  host_event, host_until = note_answer(read_host(answering, now), url, claim, now, is, cause, tonumber(retry_at), marks)
  free_slots(claim, mine[5] or url, mine[7])
else
  redis.call('HSET', feed_state, 'claim_part', part)
end
return {'ok', created, modified, trimmed, tombstoned, finish_signals(), host_event, text(host_until), taken and 1 or 0, turned}
