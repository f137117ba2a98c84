#!lua
-- The atomic write at the end of a refresh (RELIABILITY L4, L6–L8, L12). All checks come first; nothing after the first
-- write can fail. Part k of n writes complete posts with their signals; only the last writes the feed's own state.
-- ARGV: prefix, channel prefix, feed_url, its JSON text, claim, part, parts, next due, stream cap, publish trims (1/0),
--       retention ('' = nothing is trimmed, else how many posts, from which second on, how many bytes; '-' = no such
--       limit), grace ms, new posts in later parts (all newer) and their bytes; how the host answered as note_answer
--       has it: host ('' = the feed's own), is, cause, retry_at, marks; URL to move to ('' = none); highest entry number
--       the worker has seen (L8); then counted lists: state fields, feed fields (name, value; '' removes), guids that
--       left, guids that are back, guids to tombstone, guids that their publisher deleted; then counted posts to re-key:
--       id, from, to, digest, counted fields to set, and feed_rekeyed if there are any (part 1 alone has these: half a
--       re-keying could not be told from news); then counted posts: guid, digest, id ('' = new), score, bytes, signal
--       ('' = none: no reader would notice), counted fields to set, counted fields to remove; then counted feed signals:
--       type, signal.
-- A signal is the JSON object without its head, which only this script knows: seq, prev, entity_id.
-- Returns {'ok' | 'dup' | 'stale' | 'type <key>', created, modified, trimmed, tombstoned, records, what became of the
-- host ('closed', 'opened', ''), until when it is closed, whether the URL to move to is a feed already (1/0), the highest
-- entry number given out here, re-keyed, deleted, what became of the subscription (0 = nothing, 1 = turned as wanted,
-- 2 = and so its hub is in trouble)}. Of the state fields push_turn ('<from> <to>') and push_ask (ms) are none, see
-- push.lua.
local channel_prefix, url, url_json, claim = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local part, parts, next_due = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local stream_cap, publish_trims = ARGV[9], ARGV[10] == '1'
local keep, oldest, most_bytes = string.match(ARGV[11], '^(%S+) (%S+) (%S+)$')
keep, oldest, most_bytes = tonumber(keep), tonumber(oldest), tonumber(most_bytes)
local grace, later, later_bytes = tonumber(ARGV[12]), string.match(ARGV[13], '^(%d+) (%d+)$')
later, later_bytes = tonumber(later), tonumber(later_bytes)
local answered_by, is, cause, retry_at, marks, move_to, seen = unpack(ARGV, 14, 20)
local at = 20
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
                {meta_key, 'hash'}, {quarantine_key, 'zset'}, {feeds_key, 'set'}, {push_schedule_key, 'zset'},
                {push_states_key, 'hash'}}
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

local counter, bytes_before = keep and redis.call('GET', counter_key), redis.call('HGET', feed_state, 'bytes')
if counter and not string.find(counter, '^%d+$') then return {'type ' .. counter_key .. ' is no number'} end
if bytes_before and not string.find(bytes_before, '^%-?%d+$') then
  return {'type ' .. feed_state .. ' bytes is no number'}
end

local now = clock()
-- The last argument is the number 0 when the feed has no signal of its own.
local signal, finish_signals = signal_writer(now, stream_cap, keep or ARGV[#ARGV] ~= '0')

local state = take_list(2)
local feed = take_list(2)
local left = take_list(1)
local back = take_list(1)
local buried, deleted = take_list(1), take_list(1)
local rekeys = {}
for i = 1, tonumber(take()) do
  rekeys[i] = {id = take(), from = take(), to = take(), digest = take(), set = take_list(2)}
end
local rekey_signal = #rekeys > 0 and take()

local created, modified, trimmed, tombstoned, grown = 0, 0, 0, 0, 0
local posts = {}
for i = 1, tonumber(take()) do
  local post = {}
  post.guid = take()
  post.digest = take()
  post.id = take()
  post.score = tonumber(take())
  post.bytes = tonumber(take())
  post.signal = take()
  post.set = take_list(2)
  post.unset = take_list(1)
  posts[i] = post
end

-- Posts keep their numbers under new guids (DESIGN §5): map, digests and entry follow together.
local rekeyed = 0
for _, post in ipairs(rekeys) do
  if redis.call('HGET', map, post.from) == post.id and not redis.call('HGET', map, post.to) then
    redis.call('HSET', map, post.to, post.id)
    redis.call('HSET', digests, post.to, post.digest)
    redis.call('HSET', post.id, 'guid', post.to, 'digest', post.digest, unpack(post.set))
    if #post.set > 0 then
      local before, after = bytes_field(post.id), bytes_of(post.id)
      redis.call('HSET', post.id, 'bytes', after)
      grown = grown + after - before
    end
    redis.call('HDEL', map, post.from)
    redis.call('HDEL', digests, post.from)
    redis.call('ZREM', tombs, post.to)
    rekeyed = rekeyed + 1
  end
end
if rekeyed > 0 then signal('feed_rekeyed', 'feed', url_json, rekey_signal, channel_prefix .. 'feed_rekeyed') end
for _, guid in ipairs(buried) do
  if not redis.call('HGET', map, guid) then redis.call('ZADD', tombs, '+inf', guid) end
end

-- Posts that are stored. An operator may have removed one since it was looked up, or changed it: then both changes hold,
-- and rev counts both.
for _, post in ipairs(posts) do
  local mine = post.id ~= '' and redis.call('HGET', map, post.guid) == post.id and
               redis.call('HMGET', post.id, 'rev', 'bytes')
  if mine and post.signal == '' then
    redis.call('HSET', post.id, 'digest', post.digest)
    redis.call('HSET', digests, post.guid, post.digest)
  elseif mine then
    local rev, expected = (tonumber(mine[1]) or 0) + 1, tonumber(string.match(post.signal, '"rev":(%d+)'))
    if rev ~= expected then
      post.signal = string.gsub(post.signal, '"rev":%d+', '"rev":' .. text(rev), 1)
      post.set[#post.set + 1], post.set[#post.set + 2] = 'rev', text(rev)
    end
    redis.call('HSET', post.id, 'digest', post.digest, 'bytes', post.bytes, unpack(post.set))
    if #post.unset > 0 then redis.call('HDEL', post.id, unpack(post.unset)) end
    if rev ~= expected then
      post.bytes = bytes_of(post.id)
      redis.call('HSET', post.id, 'bytes', post.bytes)
    end
    redis.call('HSET', digests, post.guid, post.digest)
    redis.call('ZADD', sort, 'XX', text(post.score), post.id)
    post.modified, grown = true, grown + post.bytes - (tonumber(mine[2] or nil) or 0)
  end
end

local passed_over = 0  -- stored posts that are older than a new one which is not created
if keep then
  -- A post that the trim below would take at once is tombstoned without being created. Posts stand oldest first.
  local fresh, more_bytes = {}, grown + later_bytes
  for _, post in ipairs(posts) do
    if post.id == '' and oldest and post.score < oldest then
      post.tombstone = true
    elseif post.id == '' then
      fresh[#fresh + 1] = post
      more_bytes = more_bytes + post.bytes
    end
  end
  local stored = #fresh > 0 and redis.call('ZCARD', sort) or 0
  local left_over = stored + #fresh + later
  local surplus = left_over - keep
  local heavy = most_bytes and #fresh > 0 and
                (tonumber(redis.call('HGET', feed_state, 'bytes') or 0)) + more_bytes - most_bytes or 0
  if #fresh > 0 and (surplus > 0 or heavy > 0) then
    local known = oldest_posts(sort, math.max(surplus, heavy > 0 and 100 or 0))
    local i, j = 1, 1
    while fresh[i] and (surplus > 0 or (heavy > 0 and left_over > 1)) do
      if known[j + 1] and tonumber(known[j + 1]) <= fresh[i].score then
        if most_bytes then heavy = heavy - bytes_field(known[j]) end
        j = j + 2
      elseif not known[j] and (j - 1) / 2 < stored then
        break  -- there are more, and the trim will not come to them today
      else
        fresh[i].tombstone = true
        heavy = heavy - fresh[i].bytes
        passed_over = (j - 1) / 2
        i = i + 1
      end
      surplus, left_over = surplus - 1, left_over - 1
    end
  end
end

local has_tombs = #posts > 0 and redis.call('EXISTS', tombs) == 1
-- After a failover that lost a suffix numbers must not be given out twice.
local highest = 0
if keep and tonumber(redis.call('GET', counter_key) or 0) < tonumber(seen) then redis.call('SET', counter_key, seen) end
for _, post in ipairs(posts) do
  if post.modified then
    signal('post_modified', 'post', '"' .. post.id .. '"', post.signal, channel_prefix .. 'post_modified')
    modified = modified + 1
  elseif post.tombstone then
    redis.call('ZADD', tombs, '+inf', post.guid)
    tombstoned = tombstoned + 1
  elseif post.id == '' and not redis.call('HGET', map, post.guid) and
         not (has_tombs and redis.call('ZSCORE', tombs, post.guid)) then
    highest = redis.call('INCR', counter_key)
    local id = entry_key(text(highest))
    redis.call('HSET', id, 'feed_url', url, 'guid', post.guid, 'digest', post.digest, 'bytes', post.bytes,
               unpack(post.set))
    redis.call('HSET', map, post.guid, id)
    redis.call('HSET', digests, post.guid, post.digest)
    redis.call('ZADD', sort, text(post.score), id)
    signal('post_created', 'post', '"' .. id .. '"', post.signal, channel_prefix .. 'post_created')
    created, grown = created + 1, grown + post.bytes
  end
end
if grown ~= 0 then redis.call('HINCRBY', feed_state, 'bytes', text(grown)) end

local host_event, host_until, taken, untrimmed, withdrawn, turned = '', 0, false, false, 0, 0
if part == parts then
  -- RFC 6721: by whoever publishes it, and who may list it again. Without a tombstone: it comes back then.
  for _, guid in ipairs(deleted) do
    local id = redis.call('HGET', map, guid)
    if id then
      local guid_json = delete_post(url, id)
      signal('post_deleted', 'post', '"' .. id .. '"', deletion(now, url_json, guid_json, 'publisher'),
             channel_prefix .. 'post_deleted')
      withdrawn = withdrawn + 1
    end
  end
  if keep then
    for _, guid in ipairs(left) do redis.call('ZADD', tombs, 'XX', text(now), guid) end
    for _, guid in ipairs(back) do redis.call('ZADD', tombs, 'XX', '+inf', guid) end
    redis.call('ZREMRANGEBYSCORE', tombs, '-inf', text(now - grace))
    trimmed, untrimmed = trim(url, url_json, keep, oldest, most_bytes, passed_over, now, signal,
                              publish_trims and channel_prefix .. 'post_deleted')
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
  if untrimmed then set = {'untrimmed', '1'} elseif keep then unset[#unset + 1] = 'untrimmed' end
  taken = move_to ~= '' and redis.call('SISMEMBER', feeds_key, move_to) == 1  -- HTTP R7: two feeds stay two
  if taken then redis.call('HSET', feed_state, 'no_move_to', move_to) end
  local was = paused and mine[8] or old_state
  local told = 0  -- a Retry-After holds for whoever wakes the feed, too
  for i = 1, #state, 2 do
    if state[i] == 'not_before' then told = tonumber(state[i + 1]) or 0 end
    if was == 'quarantined' and state[i] == 'state' and state[i + 1] ~= was then
      redis.call('ZREM', quarantine_key, url)
      unset[#unset + 1], unset[#unset + 2] = 'quarantines', 'quarantined_at'
    end
    if paused and (state[i] == 'state' or state[i] == 'won') then
      state[i], state[i + 1] = unpack(state[i] == 'state' and {'before_pause', state[i + 1]} or {'won', 'paused'})
    elseif state[i] == 'state' and state[i + 1] ~= old_state then
      count_state(url, old_state, state[i + 1], now)
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
  if mine[6] then next_due = math.min(next_due, math.max(now + tonumber(mine[6]), told)) end  -- L10
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
return {'ok', created, modified, trimmed, tombstoned, finish_signals(), host_event, text(host_until), taken and 1 or 0,
        text(highest), rekeyed, withdrawn, turned}
