#!lua
-- uses plain
-- replies array of 1
-- The atomic write at the end of a refresh (RELIABILITY L4, L6–L8). All checks come first; nothing after the first
-- write can fail. Part k of n writes complete posts with their signals; only the last writes the feed's own state.
-- ARGV: prefix, feed_url, claim, next due, marks of how the host answered (note_answer of answers.lua), counted state
-- fields to set; then everything that parse() reads, in its order: counted lists start with the number of elements. A
-- signal is the JSON object without its head, which only this script knows: seq, prev, entity_id.
-- Returns {'dup' | 'stale' | 'type <key>' | 'store <key>'}, the last two for a key of the wrong type, the feed's or a
-- shared one; or {'ok', created, modified, trimmed, tombstoned, records, change of the host's circuit breaker
-- ('opened', 'closed', ''), until when it is open, whether the URL to move to is already a feed (1/0), the highest
-- entry number assigned here, re-keyed, deleted, result for the subscription (0 = unchanged, 1 = changed as requested,
-- 2 = changed, and its hub is now in trouble)}.
local url, claim = ARGV[2], ARGV[3]
local feed_state, last_field = state_key(url), 6 + 2 * tonumber(ARGV[6])
local is = read_feed(url)
if not is or is.claim ~= claim then
  return {redis.call('HGET', feed_state, 'last_claim') == claim and 'dup' or 'stale'}
end
if not is.plain then read_others(url, is) end
-- uses posts digests slots push trim texts
local sort, map, tombs = sort_key(url), guidmap_key(url), tombs_key(url)
local fetch_url, paused = is.fetch_url or url, is.state == 'paused'  -- paused while it was claimed: it stays so, and out
                                                                     -- of the schedule

-- The work to do. For lists left in ARGV, the indexes of the first and last element.
local commit = {next_due = tonumber(ARGV[4]), marks = ARGV[5], rekeys = {}, posts = {}}
-- The results, for the reply and later steps.
local done = {created = 0, modified = 0, trimmed = 0, tombstoned = 0, rekeyed = 0, deleted = 0, turned = 0,
              grown = 0,  -- bytes
              given_out = 0, host_event = '', host_until = 0}
local counter, has_tombs, answering  -- set by check(): the highest entry number, whether tombs exist, the answering
                                     -- gate
local now, signal, finish_signals    -- set after all checks

-- The next `count` arguments.
local at = last_field
local function take(count)
  at = at + count
  return unpack(ARGV, at - count + 1, at)
end

-- The first and last index of the next counted list in ARGV, with `width` arguments per element.
local function range(width)
  local first = at + 2
  at = at + 1 + tonumber(ARGV[at + 1]) * width
  return first, at
end

-- told: the event's text about the post after id and rev.
local function take_rekey()
  local id, from, to, digest, told = take(5)
  local set, set_last = range(2)  -- fields
  return {id = id, from = from, to = to, digest = digest, told = told, set = set, set_last = set_last}
end

-- digest: '' = unchanged. id: '' = new. signal: '' = none, as only the digest changes; with a leading '~', readers
-- would not notice the change: it is written unless the post has changed since, and signalled only in the stream.
local function take_post()
  local guid, digest, id, score, bytes, signal = take(6)
  local set, set_last = range(2)  -- fields
  local unset, unset_last = range(1)
  return {guid = guid, digest = digest, id = id, score = score, bytes = tonumber(bytes), signal = signal, set = set,
          set_last = set_last, unset = unset, unset_last = unset_last}
end

local function parse()
  for i = 7, last_field, 2 do
    if ARGV[i] == 'state' then commit.state_to = ARGV[i + 1] end
    if ARGV[i] == 'not_before' then commit.not_before = tonumber(ARGV[i + 1]) end
  end
  commit.unset, commit.unset_last = range(1)  -- state fields to remove
  local url_json, channel_prefix, part, parts, stream_cap, publish_trims = take(6)
  commit.url_json, commit.channel_prefix, commit.stream_cap = url_json, channel_prefix, stream_cap
  commit.part, commit.parts, commit.publish_trims = tonumber(part), tonumber(parts), publish_trims == '1'
  -- retention: '' = no trimming, else number of posts, oldest second, bytes, number of posts with texts; '-' = no such
  -- limit; then the largest post to show in events. grace: ms that a tombstone is kept. later: new posts in later
  -- parts, all newer, and their bytes.
  local retention, grace, later = take(3)
  local keep, oldest, most_bytes, texts, shown = string.match(retention, '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  commit.keep, commit.oldest, commit.most_bytes = tonumber(keep), tonumber(oldest), tonumber(most_bytes)
  commit.texts, commit.shown = tonumber(texts), tonumber(shown)
  local later_posts, later_bytes = string.match(later, '^(%d+) (%d+)$')
  commit.grace, commit.later, commit.later_bytes = tonumber(grace), tonumber(later_posts), tonumber(later_bytes)
  -- How the host answered, as in note_answer; answered_by: '' = the feed's own host.
  local retry_at, seen
  commit.answered_by, commit.is, commit.cause, retry_at = take(4)
  -- move_to: URL, '' = none. seen: highest entry number and an event id that the worker has seen (RELIABILITY L8).
  commit.move_to, seen = take(2)
  local entry, event = string.match(seen, '^(%d+) (%S+)$')
  commit.retry_at, commit.seen, commit.seen_event = tonumber(retry_at), tonumber(entry), event
  -- push_turn: the subscription's change of state, '<from> <to>', '' = none. push_ask: when to check it, ms, '' =
  -- unchanged. See push.lua.
  commit.push_turn, commit.push_ask = take(2)
  -- New record of the document's items, '' = unchanged, '-' = remove it.
  commit.items = take(1)
  -- New record of volatile parts of the feed's posts, '' = unchanged, '-' = remove it.
  commit.volatile = take(1)
  commit.feed, commit.feed_last = range(2)        -- fields; '' removes one
  commit.left, commit.left_last = range(1)        -- guids that left the document
  commit.back, commit.back_last = range(1)        -- guids that are back in it
  commit.buried, commit.buried_last = range(1)    -- guids to tombstone
  commit.deleted, commit.deleted_last = range(1)  -- guids that their publisher deleted
  -- Only in part 1: half a re-keying would look like new posts.
  for i = 1, tonumber(take(1)) do commit.rekeys[i] = take_rekey() end
  commit.rekey_signal = #commit.rekeys > 0 and take(1)  -- up to the list of posts
  for i = 1, tonumber(take(1)) do commit.posts[i] = take_post() end  -- oldest first
  commit.signals, commit.signals_last = range(2)  -- about the feed: type, signal
end

-- All checks that can fail. Returns the reply if one does; nothing has been written.
local function check()
  local written = tonumber(is.claim_part) or 0
  if commit.part <= written then return {'dup'} end
  if commit.part > written + 1 then return {'part ' .. commit.part .. ' came before part ' .. (written + 1)} end
  local keep, has_posts, whose, wrong = commit.keep, #commit.posts > 0, 'store ', nil
  local function expect(key, kind)
    local found = redis.call('TYPE', key)['ok']
    if found ~= 'none' and found ~= kind then wrong = wrong or {whose .. key .. ' is a ' .. found} end
    return found == kind
  end
  answering = commit.answered_by ~= '' and gate_of_server(commit.answered_by) or gate_of(fetch_url)
  expect(schedule_key, 'zset')
  expect(signals_key, 'stream')
  expect(meta_key, 'hash')
  if commit.state_to then
    expect(states_key, 'hash')
    expect(quarantine_key, 'zset')
  end
  if commit.move_to ~= '' then expect(feeds_key, 'set') end
  if commit.push_turn ~= '' or commit.push_ask ~= '' then
    expect(push_schedule_key, 'zset')
    expect(push_states_key, 'hash')
  end
  if keep or has_posts then expect(counter_key, 'string') end
  whose = 'type '
  expect(host_key(answering), 'hash')
  if keep or has_posts then
    expect(sort, 'zset')
    expect(map, 'hash')
    has_tombs = expect(tombs, 'zset')
  end
  if keep or commit.feed_last >= commit.feed then expect(feed_key(url), 'hash') end
  if keep or has_posts or commit.items ~= '' then expect(items_key(url), 'string') end
  if commit.volatile ~= '' then expect(volatile_key(url), 'string') end
  if wrong then return wrong end

  counter = (keep or has_posts) and redis.call('GET', counter_key)
  local bytes = redis.call('HGET', feed_state, 'bytes')
  if counter and not string.find(counter, '^%d+$') then return {'store ' .. counter_key .. ' is no number'} end
  if bytes and not string.find(bytes, '^%-?%d+$') then return {'type ' .. feed_state .. ' bytes is no number'} end
end

local function signal_feed(kind, tail)
  signal(kind, 'feed', commit.url_json, tail, kind ~= 'feed_mended' and commit.channel_prefix .. kind)
end
local function signal_post(kind, id, tail)
  signal(kind, 'post', '"' .. id .. '"', tail, commit.channel_prefix .. kind)
end

-- Signals all re-keyed posts, in events of at most 64 KiB of posts each.
local function signal_rekeys(rows)
  local parts, bytes = {}, 0
  for _, row in ipairs(rows) do
    if #parts == 0 or bytes + #row > 65536 then parts[#parts + 1], bytes = {}, 0 end
    local part = parts[#parts]
    part[#part + 1], bytes = row, bytes + #row
  end
  for i, part in ipairs(parts) do
    signal_feed('feed_rekeyed', commit.rekey_signal .. ',"part":' .. i .. ',"parts":' .. #parts .. ',"posts":[' ..
                                table.concat(part, ',') .. ']}}')
  end
end

-- Posts keep their numbers under new guids (DESIGN §5): map, digest and entry change together. Their rev stays: the
-- event includes it, for readers that have seen a later one.
local function rekey()
  local rows = {}
  for _, post in ipairs(commit.rekeys) do
    if redis.call('HGET', map, post.from) == post.id and not redis.call('HGET', map, post.to) then
      redis.call('HSET', map, post.to, post.id)
      digest_changes[post.id] = post.digest
      redis.call('HSET', post.id, 'guid', post.to, 'digest', post.digest, unpack(ARGV, post.set, post.set_last))
      if post.set_last > post.set then
        local before, after = bytes_field(post.id), bytes_of(post.id)
        redis.call('HSET', post.id, 'bytes', after)
        done.grown = done.grown + after - before
      end
      redis.call('HDEL', map, post.from)
      redis.call('ZREM', tombs, post.to)
      done.rekeyed = done.rekeyed + 1
      rows[done.rekeyed] = '{"id":"' .. post.id .. '","rev":' .. text(tonumber(redis.call('HGET', post.id, 'rev') or 1)) ..
                           post.told .. '}'
    end
  end
  signal_rekeys(rows)
end

-- Tombstones the guids of posts that were trimmed under other guids, so that they do not look new.
local function bury()
  for i = commit.buried, commit.buried_last do
    if not redis.call('HGET', map, ARGV[i]) then
      redis.call('ZADD', tombs, '+inf', ARGV[i])
      has_tombs = true
    end
  end
end

local function remove_fields(post)
  if post.unset_last >= post.unset then redis.call('HDEL', post.id, unpack(ARGV, post.unset, post.unset_last)) end
end

-- Changes that readers would not notice. If another writer has changed the post since the look-up, nothing is written,
-- not even the digest: the next poll compares the post again.
local function update_quietly(post, rev, bytes)
  if post.signal ~= '' then
    if tonumber(string.match(post.signal, '"rev":(%d+)')) ~= (tonumber(rev) or 1) + 1 then return end
    redis.call('HSET', post.id, 'bytes', text(post.bytes), unpack(ARGV, post.set, post.set_last))
    remove_fields(post)
    for i = post.set, post.set_last, 2 do
      if ARGV[i] == 'timestamp' then redis.call('ZADD', sort, 'XX', post.score, post.id) end
    end
    done.grown = done.grown + post.bytes - bytes
    post.mended = string.sub(post.signal, 2)
  end
  if post.digest ~= '' then
    redis.call('HSET', post.id, 'digest', post.digest)
    digest_changes[post.id] = post.digest
  end
end

-- An operator may have changed the post since it was looked up: then both changes are kept, and rev counts both.
local function update(post, old_rev, bytes)
  local rev, expected = (tonumber(old_rev) or 0) + 1, tonumber(string.match(post.signal, '"rev":(%d+)'))
  redis.call('HSET', post.id, 'digest', post.digest, 'bytes', text(post.bytes), unpack(ARGV, post.set, post.set_last))
  remove_fields(post)
  if rev ~= expected then
    post.signal = string.gsub(post.signal, '"rev":%d+', '"rev":' .. text(rev), 1)
    redis.call('HSET', post.id, 'rev', text(rev))
    post.bytes = bytes_of(post.id)
    -- Size of the whole post, in place of its content.
    local post_at = string.find(post.signal, ',"post":{', 1, true)
    if post_at then post.signal = string.sub(post.signal, 1, post_at) .. '"post_bytes":' .. text(post.bytes) .. '}' end
    redis.call('HSET', post.id, 'bytes', text(post.bytes))
  end
  digest_changes[post.id] = post.digest
  redis.call('ZADD', sort, 'XX', post.score, post.id)
  post.modified = true
  done.grown = done.grown + post.bytes - bytes
end

-- Updates stored posts; an operator may have removed one since it was looked up.
local function update_posts()
  for _, post in ipairs(commit.posts) do
    local stored = post.id ~= '' and redis.call('HGET', map, post.guid) == post.id and
                   redis.call('HMGET', post.id, 'rev', 'bytes')
    if stored then
      local is_quiet = post.signal == '' or string.sub(post.signal, 1, 1) == '~'
      local write = is_quiet and update_quietly or update
      write(post, stored[1], tonumber(stored[2] or nil) or 0)
    end
  end
end

-- New posts that the trim would remove at once are tombstoned without being created. Returns how many stored posts are
-- older than one of these: the trim removes them too.
local function pass_over()
  local fresh, more_bytes = {}, done.grown + commit.later_bytes
  for _, post in ipairs(commit.posts) do
    if post.id == '' and commit.oldest and tonumber(post.score) < commit.oldest then
      post.tombstone = true
    elseif post.id == '' then
      fresh[#fresh + 1] = post
      more_bytes = more_bytes + post.bytes
    end
  end
  if #fresh == 0 then return 0 end
  local most_bytes, stored, passed_over = commit.most_bytes, redis.call('ZCARD', sort), 0
  local left_over = stored + #fresh + commit.later
  local surplus = left_over - commit.keep
  local heavy = most_bytes and (tonumber(redis.call('HGET', feed_state, 'bytes') or 0)) + more_bytes - most_bytes or 0
  if surplus <= 0 and heavy <= 0 then return 0 end
  local known = oldest_posts(sort, math.max(surplus, heavy > 0 and 100 or 0))
  local i, j = 1, 1
  while fresh[i] and (surplus > 0 or (heavy > 0 and left_over > 1)) do
    if known[j + 1] and tonumber(known[j + 1]) <= tonumber(fresh[i].score) then
      if most_bytes then heavy = heavy - bytes_field(known[j]) end
      j = j + 2
    elseif not known[j] and (j - 1) / 2 < stored then
      break  -- there are more, which this trim does not reach
    else
      fresh[i].tombstone = true
      heavy = heavy - fresh[i].bytes
      passed_over = (j - 1) / 2
      i = i + 1
    end
    surplus, left_over = surplus - 1, left_over - 1
  end
  return passed_over
end

-- Creates posts: first all entries, then the references to them. Returns the new highest entry number, given `highest`.
local function create(guids, posts, highest)
  local known = redis.call('HMGET', map, unpack(guids))
  local places, scores = {}, {}
  for i, post in ipairs(posts) do
    if not (known[i] or places[post.guid] or has_tombs and redis.call('ZSCORE', tombs, post.guid)) then
      highest = number_behind(highest)
      done.given_out = highest
      local id, n = entry_key(text(highest)), #scores
      redis.call('HSET', id, 'feed_url', url, 'guid', post.guid, 'digest', post.digest, 'bytes', text(post.bytes),
                 unpack(ARGV, post.set, post.set_last))
      post.created, places[post.guid] = id, true
      places[n + 1], places[n + 2] = post.guid, id
      digest_changes[id] = post.digest
      scores[n + 1], scores[n + 2] = post.score, id
      done.created, done.grown = done.created + 1, done.grown + post.bytes
    end
  end
  if done.created > 0 then
    redis.call('HSET', map, unpack(places))
    redis.call('ZADD', sort, unpack(scores))
  end
  return highest
end

-- Numbers must not be assigned twice after a failover that lost writes: they continue after what the worker has seen.
local function create_posts()
  local guids, posts = {}, {}
  for _, post in ipairs(commit.posts) do
    if post.id == '' and not post.tombstone then guids[#guids + 1], posts[#posts + 1] = post.guid, post end
  end
  local counted = tonumber(counter or nil) or 0
  local highest = commit.keep and math.max(counted, commit.seen) or counted
  if #posts > 0 then highest = create(guids, posts, highest) end
  if highest > counted then redis.call('SET', counter_key, text(highest)) end
end

-- Signals posts in document order.
local function signal_posts()
  for _, post in ipairs(commit.posts) do
    if post.modified then
      signal_post('post_modified', post.id, post.signal)
      done.modified = done.modified + 1
    elseif post.mended then
      signal('post_mended', 'post', '"' .. post.id .. '"', post.mended)
    elseif post.tombstone then
      redis.call('ZADD', tombs, '+inf', post.guid)
      done.tombstoned = done.tombstoned + 1
    elseif post.created then
      signal_post('post_created', post.created, post.signal)
    end
  end
end

-- Returns passed_over for the trim.
local function write_posts()
  update_posts()
  local passed_over = commit.keep and pass_over() or 0
  create_posts()
  signal_posts()
  if done.grown ~= 0 then redis.call('HINCRBY', feed_state, 'bytes', text(done.grown)) end
  return passed_over
end

-- Deletes posts that the publisher declared deleted (RFC 6721). Without a tombstone, so that a post listed again
-- returns.
local function delete_posts()
  for i = commit.deleted, commit.deleted_last do
    local id = redis.call('HGET', map, ARGV[i])
    if id then
      local guid_json = delete_post(url, id)
      signal_post('post_deleted', id, deletion(now, commit.url_json, guid_json, 'publisher'))
      done.deleted = done.deleted + 1
    end
  end
end

-- A tombstone stays while its guid is listed, plus `grace`; at most 20,000 per feed.
local function trim_posts(passed_over)
  for i = commit.left, commit.left_last do redis.call('ZADD', tombs, 'XX', text(now), ARGV[i]) end
  for i = commit.back, commit.back_last do redis.call('ZADD', tombs, 'XX', '+inf', ARGV[i]) end
  if has_tombs then redis.call('ZREMRANGEBYSCORE', tombs, '-inf', text(now - commit.grace)) end
  done.trimmed, done.untrimmed = trim(url, commit.url_json, commit.keep, commit.oldest, commit.most_bytes, passed_over,
                                      now, signal, commit.publish_trims and commit.channel_prefix .. 'post_deleted')
  local more = has_tombs or done.tombstoned + done.trimmed + done.deleted > 0
  local surplus = more and redis.call('ZCARD', tombs) - 20000 or 0
  if surplus > 0 then redis.call('ZREMRANGEBYRANK', tombs, 0, surplus - 1) end
end

-- RELIABILITY L34
local function drop_texts()
  local written = {}
  for _, post in ipairs(commit.posts) do
    local id = post.created or post.id
    if id ~= '' then written[#written + 1] = id end
  end
  drop_old_texts(url, commit.url_json, commit.texts, written, commit.shown, now, signal)
end

local function write_feed()
  for i = commit.feed, commit.feed_last, 2 do
    if ARGV[i + 1] == '' then redis.call('HDEL', feed_key(url), ARGV[i])
    else redis.call('HSET', feed_key(url), ARGV[i], ARGV[i + 1]) end
  end
end

-- Whether the feed is to move to a URL that is already a feed: then the two stay separate (HTTP R8), and this feed
-- keeps its URL.
local function keep_apart()
  local taken = commit.move_to ~= '' and redis.call('SISMEMBER', feeds_key, commit.move_to) == 1
  if taken then redis.call('HSET', feed_state, 'no_move_to', commit.move_to) end
  return taken
end
local function is_of_move(name) return name == 'fetch_url' or name == 'moves' end

-- Updates the counts and lists of feeds by state. Adds the state fields to remove to `unset`.
local function turn_state(unset)
  local to = commit.state_to
  if not to then return end
  local old_state = is.state or redis.call('HGET', feed_state, 'state') or 'new'
  local was = old_state
  if paused then was = redis.call('HGET', feed_state, 'before_pause') end
  if was == 'quarantined' and to ~= was then
    redis.call('ZREM', quarantine_key, url)
    unset[#unset + 1], unset[#unset + 2] = 'quarantines', 'quarantined_at'
  elseif to == 'quarantined' and was ~= to then
    redis.call('ZADD', quarantine_key, text(now), url)
  end
  if to ~= old_state and not paused then count_state(url, old_state, to, now) end
end

-- Writes the feed's own state and ends the claim.
local function write_state()
  local set, unset = {}, {'claim', 'claim_due', 'strikes'}
  if not is.plain then
    unset = {'claim', 'claim_due', 'strikes', 'claim_part', 'claim_hosts', 'held', 'wake', 'alone', 'alone_deaths',
             'push_claimed', 'push_due', 'push_wake'}
  end
  if done.untrimmed then set = {'untrimmed', '1'} elseif commit.keep then unset[#unset + 1] = 'untrimmed' end
  done.taken = keep_apart()
  turn_state(unset)
  for i = 7, last_field, 2 do
    local name, value = ARGV[i], ARGV[i + 1]
    if paused and name == 'state' then name = 'before_pause' end
    if not (done.taken and is_of_move(name)) then
      set[#set + 1], set[#set + 2] = name, value
      if name == 'state' or name == 'fetch_url' then is[name] = value end
    end
  end
  for i = commit.unset, commit.unset_last do
    if not (done.taken and is_of_move(ARGV[i])) then
      unset[#unset + 1] = ARGV[i]
      if ARGV[i] == 'fetch_url' then is.fetch_url = nil end
    end
  end
  if not becomes_plain(is) then
    if is.plain then unset[#unset + 1] = 'plain' end
  elseif not is.plain then
    set[#set + 1], set[#set + 2] = 'plain', '1'
  end
  redis.call('HSET', feed_state, 'last_claim', claim, unpack(set))
  redis.call('HDEL', feed_state, unpack(unset))
end

-- Updates the feed's subscription, unless its state has changed since.
local function settle_push()
  if commit.push_turn ~= '' then
    local from, to = string.match(commit.push_turn, '^(%S*) (%S*)$')
    if from == (redis.call('HGET', feed_state, 'push_state') or '') then
      done.turned = 1 + turn_push(url, from, to, now)
      if to == 'healthy' then redis.call('HDEL', feed_state, 'push_tries') end
      if to == 'failed' then redis.call('HINCRBY', feed_state, 'push_tries', 1) end
    end
  end
  if commit.push_ask ~= '' then redis.call('ZADD', push_schedule_key, 'LT', commit.push_ask, url) end
end

local function signal_changes()
  for i = commit.signals, commit.signals_last, 2 do
    if not (done.taken and ARGV[i] == 'feed_moved') then signal_feed(ARGV[i], ARGV[i + 1]) end
  end
end

-- Schedules the feed: sooner than planned if a push or an operator requested that during the refresh (RELIABILITY L10),
-- but never before a Retry-After.
local function schedule()
  local next_due, wake, push_wake = commit.next_due, is.wake, is.push_wake
  local granted = wake and math.max(now + tonumber(wake), commit.not_before or 0)
  if granted and granted < next_due then
    next_due = granted
    redis.call('HSET', feed_state, 'won', 'manual', 'why', due_input('manual', next_due - now))
  end
  if push_wake then next_due = after_push(url, now, next_due, push_wake) end
  redis.call('ZADD', schedule_key, 'XX', text(next_due), url)
  if paused then
    local won = redis.call('HGET', feed_state, 'orphaned') and 'orphaned' or 'paused'
    redis.call('HSET', feed_state, 'paused_due', text(next_due), 'won', won)
  end
end

-- Records how the hosts answered, and releases their slots.
local function note_answers(first)
  -- uses host answers
  local _, egress = read_marks(commit.marks)
  if answering ~= first then  -- the first host has answered too, with a redirect
    local moved = string.match(commit.marks, '^%w*m') and 'm' or ''
    note_answer(read_host(first, now, egress), url, claim, now, 'served', '', 0, moved)
  end
  if commit.is ~= 'served' or commit.cause ~= '' or not nothing_to_note(host_key(answering), commit.marks, now) then
    done.host_event, done.host_until = note_answer(read_host(answering, now, egress), url, claim, now, commit.is,
                                                   commit.cause, commit.retry_at, commit.marks)
  end
end
local function note_hosts()
  local first = gate_of(fetch_url)
  if answering ~= first or commit.is ~= 'served' or commit.cause ~= '' or
     not nothing_to_note(host_key(answering), commit.marks, now) then
    note_answers(first)
  end
  free_slots(claim, first, is.claim_hosts)
end

local function finish()
  write_feed()
  write_digests(url, commit.items)
  if commit.volatile == '-' then redis.call('DEL', volatile_key(url))
  elseif commit.volatile ~= '' then redis.call('SET', volatile_key(url), commit.volatile) end
  write_state()
  settle_push()
  signal_changes()
  schedule()
  note_hosts()
end

parse()
local refusal = check()
if refusal then return refusal end
now = clock()
signal, finish_signals = signal_writer(now, commit.stream_cap, commit.keep or commit.signals_last > commit.signals,
                                       commit.seen_event)
rekey()
bury()
local passed_over = write_posts()
local is_last = commit.part == commit.parts
if is_last then
  delete_posts()
  if commit.keep then trim_posts(passed_over) end
end
if commit.texts then drop_texts() end
if is_last then
  finish()
else
  write_digests(url, '')
  redis.call('HSET', feed_state, 'claim_part', commit.part)
  redis.call('HDEL', feed_state, 'plain')
end
local events, last_event = finish_signals()
return {'ok', done.created, done.modified, done.trimmed, done.tombstoned, events, done.host_event,
        text(done.host_until), done.taken and 1 or 0, text(done.given_out), done.rekeyed, done.deleted, done.turned,
        last_event}
