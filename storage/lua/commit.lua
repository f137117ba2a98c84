#!lua
-- uses commit_unchanged posts host push trim
-- replies array of 1
-- The atomic write at the end of a refresh (RELIABILITY L4, L6–L8, L12). All checks come first; nothing after the first
-- write can fail. Part k of n writes complete posts with their signals; only the last writes the feed's own state.
-- ARGV: prefix, feed_url, claim, next due, marks of how the host answered, counted state fields to set. Behind those of a
--       poll that changed nothing else nothing follows (commit_unchanged.lua); of others:
--       counted state fields to remove, the feed's URL as JSON text, channel prefix, part, parts, stream cap, publish
--       trims (1/0), retention ('' = nothing is trimmed, else how many posts, from which second on, how many bytes; '-' =
--       no such limit), grace ms, new posts in later parts (all newer) and their bytes; how the host answered as
--       note_answer has it: host ('' = the feed's own), is, cause, retry_at; URL to move to ('' = none); highest entry
--       number the worker has seen (RELIABILITY L8); what becomes of the subscription ('' = nothing, '<from> <to>') and when it is to
--       be looked after ('' = nothing new, ms), see push.lua; then counted lists: feed fields (name, value; '' removes),
--       guids that left, guids that are back, guids to tombstone, guids that their publisher deleted; then counted posts
--       to re-key: id, from, to, digest, counted fields to set, and feed_rekeyed if there are any (part 1 alone has these:
--       half a re-keying could not be told from news); then counted posts: guid, digest, id ('' = new), score, bytes,
--       signal ('' = none: no reader would notice; a number: nor would one notice the fields, which are written if that is
--       still its rev), counted fields to set, counted fields to remove; then counted feed
--       signals: type, signal.
-- A signal is the JSON object without its head, which only this script knows: seq, prev, entity_id.
-- Returns {'dup' | 'stale' | 'type <key>'}, {'ok'} alone for the short way, or {'ok', created, modified, trimmed,
-- tombstoned, records, what became of the host's circuit breaker ('opened', 'closed', ''), until when it is open, whether the URL to move
-- to is a feed already (1/0), the highest entry number given out here, re-keyed, deleted, what became of the subscription
-- (0 = nothing, 1 = turned as wanted, 2 = and so its hub is in trouble)}.
local at = last_field
local function take()
  at = at + 1
  return ARGV[at]
end
-- Where the next counted list begins and ends in ARGV.
local function range(width)
  local first = at + 2
  at = at + 1 + tonumber(ARGV[at + 1]) * width
  return first, at
end

local next_due, marks = tonumber(ARGV[4]), ARGV[5]
local unset_first, unset_last = 1, 0
local url_json, channel_prefix, stream_cap, publish_trims, grace, later, later_bytes, keep, oldest, most_bytes
local part, parts, answered_by, is, cause, retry_at, move_to, seen, push_turn, push_ask = 1, 1, '', 'served', '', '0', '', '0', '', ''
if not short then
  unset_first, unset_last = range(1)
  local retention, more
  url_json, channel_prefix, part, parts, stream_cap, publish_trims, retention, grace, more = unpack(ARGV, at + 1, at + 9)
  answered_by, is, cause, retry_at, move_to, seen, push_turn, push_ask = unpack(ARGV, at + 10, at + 17)
  at = at + 17
  part, parts, grace, publish_trims = tonumber(part), tonumber(parts), tonumber(grace), publish_trims == '1'
  keep, oldest, most_bytes = string.match(retention, '^(%S+) (%S+) (%S+)$')
  keep, oldest, most_bytes = tonumber(keep), tonumber(oldest), tonumber(most_bytes)
  later, later_bytes = string.match(more, '^(%d+) (%d+)$')
  later, later_bytes = tonumber(later), tonumber(later_bytes)
end

local written = tonumber(mine[2]) or 0
if part <= written then return {'dup'} end
if part > written + 1 then return {'part ' .. part .. ' came before part ' .. (written + 1)} end

-- What is to be done, by its places in ARGV.
local feed_first, feed_last, left_first, left_last, back_first, back_last = 1, 0, 1, 0, 1, 0
local buried_first, buried_last, deleted_first, deleted_last = 1, 0, 1, 0
local rekeys, posts, rekey_signal, feed_signals = {}, {}, nil, 0
if not short then
  feed_first, feed_last = range(2)
  left_first, left_last = range(1)
  back_first, back_last = range(1)
  buried_first, buried_last = range(1)
  deleted_first, deleted_last = range(1)
  for i = 1, tonumber(take()) do
    local post = {id = ARGV[at + 1], from = ARGV[at + 2], to = ARGV[at + 3], digest = ARGV[at + 4]}
    at = at + 4
    post.set, post.set_last = range(2)
    rekeys[i] = post
  end
  rekey_signal = #rekeys > 0 and take()
  for i = 1, tonumber(take()) do
    local post = {guid = ARGV[at + 1], digest = ARGV[at + 2], id = ARGV[at + 3], score = ARGV[at + 4],
                  bytes = tonumber(ARGV[at + 5]), signal = ARGV[at + 6]}
    at = at + 6
    post.set, post.set_last = range(2)
    post.unset, post.unset_last = range(1)
    posts[i] = post
  end
  feed_signals = tonumber(take())
end
local state_to  -- what the feed's state becomes
for i = 7, last_field, 2 do
  if ARGV[i] == 'state' then state_to = ARGV[i + 1] end
end

local sort, map, digests, tombs = sort_key(url), guidmap_key(url), digests_key(url), tombs_key(url)
local answering = answered_by ~= '' and gate_of_host(answered_by) or gate_of(mine[4] or url)
local wrong
local function check(key, kind)
  local found = redis.call('TYPE', key)['ok']
  if found ~= 'none' and found ~= kind then wrong = wrong or {'type ' .. key .. ' is a ' .. found} end
  return found == kind
end
check(schedule_key, 'zset')
check(host_key(answering), 'hash')
if state_to then
  check(states_key, 'hash')
  check(quarantine_key, 'zset')
end
if not short then
  check(signals_key, 'stream')
  check(meta_key, 'hash')
end
if move_to ~= '' then check(feeds_key, 'set') end
if push_turn ~= '' or push_ask ~= '' then
  check(push_schedule_key, 'zset')
  check(push_states_key, 'hash')
end
local has_tombs
if keep or #posts > 0 then
  check(sort, 'zset')
  check(map, 'hash')
  check(digests, 'hash')
  has_tombs = check(tombs, 'zset')
  check(counter_key, 'string')
end
if keep or feed_last >= feed_first then check(feed_key(url), 'hash') end
if wrong then return wrong end

local counter, bytes_before = (keep or #posts > 0) and redis.call('GET', counter_key), redis.call('HGET', feed_state, 'bytes')
if counter and not string.find(counter, '^%d+$') then return {'type ' .. counter_key .. ' is no number'} end
if bytes_before and not string.find(bytes_before, '^%-?%d+$') then
  return {'type ' .. feed_state .. ' bytes is no number'}
end

local now = clock()
local signal, finish_signals = signal_writer(now, stream_cap, keep or feed_signals > 0)

local created, modified, trimmed, tombstoned, grown = 0, 0, 0, 0, 0

-- Posts keep their numbers under new guids (DESIGN §5): map, digests and entry follow together.
local rekeyed = 0
for _, post in ipairs(rekeys) do
  if redis.call('HGET', map, post.from) == post.id and not redis.call('HGET', map, post.to) then
    redis.call('HSET', map, post.to, post.id)
    redis.call('HSET', digests, post.to, post.digest)
    redis.call('HSET', post.id, 'guid', post.to, 'digest', post.digest, unpack(ARGV, post.set, post.set_last))
    if post.set_last > post.set then
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
for i = buried_first, buried_last do
  if not redis.call('HGET', map, ARGV[i]) then
    redis.call('ZADD', tombs, '+inf', ARGV[i])
    has_tombs = true
  end
end

-- Posts that are stored. An operator may have removed one since it was looked up, or changed it: then both changes hold,
-- and rev counts both.
for _, post in ipairs(posts) do
  local stored = post.id ~= '' and redis.call('HGET', map, post.guid) == post.id and
                 redis.call('HMGET', post.id, 'rev', 'bytes')
  if stored and string.find(post.signal, '^%d*$') then
    redis.call('HSET', post.id, 'digest', post.digest)
    redis.call('HSET', digests, post.guid, post.digest)
    if post.signal ~= '' and post.signal == (stored[1] or '1') then
      redis.call('HSET', post.id, 'bytes', text(post.bytes), unpack(ARGV, post.set, post.set_last))
      if post.unset_last >= post.unset then redis.call('HDEL', post.id, unpack(ARGV, post.unset, post.unset_last)) end
      grown = grown + post.bytes - (tonumber(stored[2] or nil) or 0)
    end
  elseif stored then
    local rev, expected = (tonumber(stored[1]) or 0) + 1, tonumber(string.match(post.signal, '"rev":(%d+)'))
    redis.call('HSET', post.id, 'digest', post.digest, 'bytes', text(post.bytes), unpack(ARGV, post.set, post.set_last))
    if post.unset_last >= post.unset then redis.call('HDEL', post.id, unpack(ARGV, post.unset, post.unset_last)) end
    if rev ~= expected then
      post.signal = string.gsub(post.signal, '"rev":%d+', '"rev":' .. text(rev), 1)
      redis.call('HSET', post.id, 'rev', text(rev))
      post.bytes = bytes_of(post.id)
      redis.call('HSET', post.id, 'bytes', text(post.bytes))
    end
    redis.call('HSET', digests, post.guid, post.digest)
    redis.call('ZADD', sort, 'XX', post.score, post.id)
    post.modified, grown = true, grown + post.bytes - (tonumber(stored[2] or nil) or 0)
  end
end

local passed_over = 0  -- stored posts that are older than a new one which is not created
if keep then
  -- A post that the trim below would take at once is tombstoned without being created. Posts stand oldest first.
  local fresh, more_bytes = {}, grown + later_bytes
  for _, post in ipairs(posts) do
    if post.id == '' and oldest and tonumber(post.score) < oldest then
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
      if known[j + 1] and tonumber(known[j + 1]) <= tonumber(fresh[i].score) then
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

-- New posts: first all entries, then what leads to them, then the signals in the order of the document. Numbers must not
-- be given out twice after a failover that lost a suffix.
local new_guids, new_posts = {}, {}
for _, post in ipairs(posts) do
  if post.id == '' and not post.tombstone then
    new_guids[#new_guids + 1], new_posts[#new_posts + 1] = post.guid, post
  end
end
local counted = tonumber(counter or nil) or 0
local highest, given_out = counted, 0
if keep then highest = math.max(highest, tonumber(seen)) end
if #new_posts > 0 then
  local known = redis.call('HMGET', map, unpack(new_guids))
  local places, marks_of, scores = {}, {}, {}
  for i, post in ipairs(new_posts) do
    if not (known[i] or places[post.guid] or has_tombs and redis.call('ZSCORE', tombs, post.guid)) then
      highest = highest + 1
      given_out = highest
      local id, n = entry_key(text(highest)), #scores
      redis.call('HSET', id, 'feed_url', url, 'guid', post.guid, 'digest', post.digest, 'bytes', text(post.bytes),
                 unpack(ARGV, post.set, post.set_last))
      post.created, places[post.guid] = id, true
      places[n + 1], places[n + 2] = post.guid, id
      marks_of[n + 1], marks_of[n + 2] = post.guid, post.digest
      scores[n + 1], scores[n + 2] = post.score, id
      created, grown = created + 1, grown + post.bytes
    end
  end
  if created > 0 then
    redis.call('HSET', map, unpack(places))
    redis.call('HSET', digests, unpack(marks_of))
    redis.call('ZADD', sort, unpack(scores))
  end
end
if highest > counted then redis.call('SET', counter_key, text(highest)) end
local created_on, modified_on = (channel_prefix or '') .. 'post_created', (channel_prefix or '') .. 'post_modified'
for _, post in ipairs(posts) do
  if post.modified then
    signal('post_modified', 'post', '"' .. post.id .. '"', post.signal, modified_on)
    modified = modified + 1
  elseif post.tombstone then
    redis.call('ZADD', tombs, '+inf', post.guid)
    tombstoned = tombstoned + 1
  elseif post.created then
    signal('post_created', 'post', '"' .. post.created .. '"', post.signal, created_on)
  end
end
if grown ~= 0 then redis.call('HINCRBY', feed_state, 'bytes', text(grown)) end

local host_event, host_until, taken, untrimmed, withdrawn, turned = '', 0, false, false, 0, 0
if part == parts then
  -- RFC 6721: by whoever publishes it, and who may list it again. Without a tombstone: it comes back then.
  for i = deleted_first, deleted_last do
    local guid = ARGV[i]
    local id = redis.call('HGET', map, guid)
    if id then
      local guid_json = delete_post(url, id)
      signal('post_deleted', 'post', '"' .. id .. '"', deletion(now, url_json, guid_json, 'publisher'),
             channel_prefix .. 'post_deleted')
      withdrawn = withdrawn + 1
    end
  end
  if keep then
    for i = left_first, left_last do redis.call('ZADD', tombs, 'XX', text(now), ARGV[i]) end
    for i = back_first, back_last do redis.call('ZADD', tombs, 'XX', '+inf', ARGV[i]) end
    if has_tombs then redis.call('ZREMRANGEBYSCORE', tombs, '-inf', text(now - grace)) end
    trimmed, untrimmed = trim(url, url_json, keep, oldest, most_bytes, passed_over, now, signal,
                              publish_trims and channel_prefix .. 'post_deleted')
    local surplus = (has_tombs or tombstoned + trimmed + withdrawn > 0) and redis.call('ZCARD', tombs) - 20000 or 0
    if surplus > 0 then redis.call('ZREMRANGEBYRANK', tombs, 0, surplus - 1) end
  end

  local old_state = mine[3] or 'new'
  local paused = old_state == 'paused'  -- meanwhile: it stays so, and out of the schedule
  for i = feed_first, feed_last, 2 do
    if ARGV[i + 1] == '' then redis.call('HDEL', feed_key(url), ARGV[i])
    else redis.call('HSET', feed_key(url), ARGV[i], ARGV[i + 1]) end
  end
  local set, unset = {}, {'claim', 'claim_due', 'claim_part', 'claim_hosts', 'held', 'wake', 'strikes', 'alone',
                          'alone_deaths', 'push_claimed', 'push_due', 'push_wake'}
  if untrimmed then set = {'untrimmed', '1'} elseif keep then unset[#unset + 1] = 'untrimmed' end
  taken = move_to ~= '' and redis.call('SISMEMBER', feeds_key, move_to) == 1  -- HTTP R7: two feeds stay two
  if taken then redis.call('HSET', feed_state, 'no_move_to', move_to) end
  local was = old_state
  if paused then was = redis.call('HGET', feed_state, 'before_pause') end
  if was == 'quarantined' and state_to and state_to ~= was then
    redis.call('ZREM', quarantine_key, url)
    unset[#unset + 1], unset[#unset + 2] = 'quarantines', 'quarantined_at'
  elseif state_to == 'quarantined' and was ~= state_to then
    redis.call('ZADD', quarantine_key, text(now), url)
  end
  if state_to and state_to ~= old_state and not paused then count_state(url, old_state, state_to, now) end
  local told = 0  -- a Retry-After holds for whoever wakes the feed, too
  for i = 7, last_field, 2 do
    local name, value = ARGV[i], ARGV[i + 1]
    if name == 'not_before' then told = tonumber(value) or 0 end
    if paused and name == 'state' then name = 'before_pause' end
    if paused and name == 'won' then value = 'paused' end
    if not (taken and (name == 'fetch_url' or name == 'moves')) then
      set[#set + 1], set[#set + 2] = name, value
    end
  end
  for i = unset_first, unset_last do
    if not (taken and (ARGV[i] == 'fetch_url' or ARGV[i] == 'moves')) then unset[#unset + 1] = ARGV[i] end
  end
  redis.call('HSET', feed_state, 'last_claim', claim, unpack(set))
  redis.call('HDEL', feed_state, unpack(unset))
  if push_turn ~= '' then
    local from, to = string.match(push_turn, '^(%S*) (%S*)$')
    if from == (redis.call('HGET', feed_state, 'push_state') or '') then
      turned = 1 + turn_push(url, from, to, now)
      if to == 'healthy' then redis.call('HDEL', feed_state, 'push_tries') end
      if to == 'failed' then redis.call('HINCRBY', feed_state, 'push_tries', 1) end
    end
  end
  if push_ask ~= '' then redis.call('ZADD', push_schedule_key, 'LT', push_ask, url) end
  for _ = 1, feed_signals do
    local kind, tail = take(), take()
    if not (taken and kind == 'feed_moved') then signal(kind, 'feed', url_json, tail, channel_prefix .. kind) end
  end
  if mine[5] then next_due = math.min(next_due, math.max(now + tonumber(mine[5]), told)) end  -- RELIABILITY L10
  if mine[7] then next_due = after_push(url, now, next_due, mine[7]) end
  redis.call('ZADD', schedule_key, 'XX', text(next_due), url)
  if paused then redis.call('HSET', feed_state, 'paused_due', text(next_due)) end
  local first = gate_of(mine[4] or url)  -- it has answered too, by a redirect
  if answering ~= first then note_answer(read_host(first, now), url, claim, now, 'served', '', 0, '') end
  if is ~= 'served' or not nothing_to_note(host_key(answering), marks, now) then
    host_event, host_until = note_answer(read_host(answering, now), url, claim, now, is, cause, tonumber(retry_at), marks)
  end
  free_slots(claim, first, mine[6])
else
  redis.call('HSET', feed_state, 'claim_part', part)
end
return {'ok', created, modified, trimmed, tombstoned, finish_signals(), host_event, text(host_until), taken and 1 or 0,
        text(given_out), rekeyed, withdrawn, turned}
