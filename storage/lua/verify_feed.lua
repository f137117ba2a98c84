#!lua flags=no-writes
-- uses plain posts deliver digests verify
-- replies array of 5
-- Checks one feed in bounded steps, each a consistent snapshot (RELIABILITY §2). Writes nothing. If every entry of the
-- index is correct, and index, map and digests have equal length, all three match: only otherwise must map and digests
-- be walked. The digests are read in one step.
-- ARGV: prefix, feed_url, 'feed' | 'guidmap' | 'digests', first rank or cursor, how many.
-- Returns {findings, next rank or cursor ('' = done), state ('' = not registered), 1 = map and digests must be walked,
--          {id, guid, rev, first_seen, last_changed, …}}.
local url, mode, first, count = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local feed_state, sort, map, items, tombs = state_key(url), sort_key(url), guidmap_key(url), items_key(url), tombs_key(url)
local now, day = clock(), 24 * 3600 * 1000

-- Absent keys are fine. `can_be_rebuilt`: a key of the wrong type can be deleted, because the other keys determine it.
local sound = true
local function expect(key, wanted, invariant, can_be_rebuilt)
  local found = type_of(key)
  if found ~= 'none' and found ~= wanted then
    find(invariant, 'type', url, {key}, 'is a ' .. found .. ', not a ' .. wanted, can_be_rebuilt and {del(key)})
    sound = false
  end
end
expect(feed_state, 'hash', 'I6')
expect(map, 'hash', 'I3', true)
expect(sort, 'zset', 'I4', true)
expect(tombs, 'zset', 'I15')
expect(feed_key(url), 'hash', 'I13', true)
expect(items, 'string', 'I4', true)
expect(volatile_key(url), 'string', 'I13', true)
if not sound then return {findings, '', 'new', 0, {}} end
local packed = redis.call('GET', items)
local about = redis.call('HMGET', meta_key, 'schema', 'migrating')
local is_migrated = about[1] ~= '1' and not about[2]
local last_of_rows = packed and end_of_rows(packed)

-- Makes the next document supply the missing data.
local function forget_validators(changes)
  for _, name in ipairs({'etag', 'last_modified', 'hashes'}) do
    local value = redis.call('HGET', feed_state, name)
    if value then changes[#changes + 1] = hdel(feed_state, name, value) end
  end
  return changes
end

if mode == 'guidmap' then
  local step = redis.call('HSCAN', map, first, 'COUNT', count)
  for i = 1, #step[2], 2 do
    local guid, id = step[2][i], step[2][i + 1]
    local is = is_entry(id) and type_of(id) == 'hash' and
               redis.call('HMGET', id, 'feed_url', 'guid', 'timestamp', 'last_changed')
    if not is then
      find('I3', 'map.dangling', url, {map, id}, 'guid ' .. shown(guid) .. ' leads to ' .. shown(id) .. ', which is not an entry',
           forget_validators({hdel(map, guid, id)}))
    elseif not is[1] then
      find('I3', 'entry.feed', url, {id}, 'feed_url is missing', {hset(id, 'feed_url', false, url)})
    elseif not is[2] then
      find('I3', 'entry.guid', url, {id}, 'guid is missing', {hset(id, 'guid', false, guid)})
    elseif is[1] ~= url or is[2] ~= guid then
      find('I3', 'map.differs', url, {map, id},
           'guid ' .. shown(guid) .. ' leads to ' .. id .. ', whose guid is ' .. shown(is[2]) .. ' of ' .. shown(is[1]),
           {hdel(map, guid, id)})
    elseif not redis.call('ZSCORE', sort, id) then
      local score = whole(is[3]) or whole(is[4])
      find('I4', 'index.missing', url, {sort, id}, 'the entry is missing from the index',
           score and {zadd(sort, id, false, text(score))})
    end
  end
  return {findings, step[1] == '0' and '' or step[1], '', 0, {}}
end
if mode == 'digests' then
  local known, strays = {}, 0
  for at = 5, last_of_rows or 0, row_bytes do
    local id = entry_key(text(struct.unpack('<I6', packed, at)))
    if known[id] or not redis.call('ZSCORE', sort, id) then strays = strays + 1 end
    known[id] = true
  end
  if strays > 0 then
    find('I4', 'digest.stray', url, {items}, strays .. ' digests of entries that are not in the index, or have another',
         {repack(url)})
  end
  return {findings, '', '', 0, {}}
end

local mine = redis.call('HMGET', feed_state, 'state', 'before_pause', 'claim', 'claim_due', 'last_claim', 'claim_part',
                        'removing', 'quarantined_at', 'bytes', 'line', 'fetch_url', 'texts')
local state, line = mine[1], mine[10]
local due = redis.call('ZSCORE', schedule_key, url)
local waits = line and zscore(line_key(line), url)
local since = redis.call('ZSCORE', quarantine_key, url)
local registered = redis.call('SISMEMBER', feeds_key, url) == 1

if not registered then
  local keys = {}
  for _, key in ipairs(family(url)) do
    if redis.call('EXISTS', key) == 1 then keys[#keys + 1] = key end
  end
  if #keys == 0 then return {findings, '', '', 0, {}} end
  if mine[7] then
    find('I13', 'removal.unfinished', url, keys, 'its removal (or import) was interrupted and has not been finished; ' ..
         redis.call('ZCARD', sort) .. ' entries are left', {{'remove_feed', feed_state, 'removing', mine[7], false}})
  elseif due or waits or state == 'paused' then
    local changes = {sadd(feeds_key, url)}
    if not zscore(by_url_key, url) then changes[2] = zadd(by_url_key, url, false, '0') end
    find('I6', 'feeds.missing', url, {feeds_key, feed_state}, 'the feed is scheduled or paused, but not registered', changes)
  else
    find('I13', 'feed.orphan', url, keys, 'keys of a feed that is neither registered nor scheduled',
         {hset(feed_state, 'removing', false, '1'), {'remove_feed', feed_state, 'removing', '1', false}})
  end
  return {findings, '', '', 0, {}}
end

if first == '0' then
  local plain = redis.call('HGET', feed_state, 'plain')
  local is = {claim = mine[3] or nil}
  if plain then read_others(url, is) end
  for _, name in ipairs({'alone', 'alone_deaths', 'claim_hosts', 'claim_part', 'held', 'push_claimed', 'push_due', 'wake'}) do
    if plain and is[name] then plain = name end
  end
  if plain and (plain ~= '1' or is.strikes and not is.claim or not becomes_plain(is)) then
    find('I7', 'plain.wrong', url, {feed_state}, 'its state is marked plain but is not',
         {hdel(feed_state, 'plain', redis.call('HGET', feed_state, 'plain'))})
  end
  local known = {new = 1, never_read = 1, healthy = 1, degraded = 1, failing = 1, blocked = 1, gone = 1,
                 quarantined = 1, paused = 1}
  if not state or not known[state] then
    find('I6', 'state.unknown', url, {feed_state}, 'its state is ' .. shown(state), {hset(feed_state, 'state', state, 'new')})
  end
  if redis.call('HGET', meta_key, 'by_url') and not zscore(by_url_key, url) then
    find('I6', 'by_url.missing', url, {by_url_key}, 'the feed is missing from the index of feeds by URL', {zadd(by_url_key, url, false, '0')})
  end
  local score = tonumber(due)
  if state == 'paused' then
    if due then find('I6', 'schedule.paused', url, {schedule_key}, 'the feed is paused but scheduled', {zrem(schedule_key, url, due)}) end
  elseif not due and waits then
    if not zscore(lines_key, line) then
      find('I6', 'lines.missing', url, {lines_key, line_key(line)}, 'the feed waits in a line that is never served',
           {zadd(lines_key, line, false, text(now))})
    end
  elseif not due then
    find('I6', 'schedule.missing', url, {schedule_key}, 'the feed is neither paused nor scheduled',
         {zadd(schedule_key, url, false, text(now))})
  elseif score ~= score or score < 0 or score > now + 30 * day + 60000 then
    find('I6', 'schedule.score', url, {schedule_key}, 'its due time is ' .. due .. ', not between 0 and 30 days from now',
         {zadd(schedule_key, url, due, text(now + day))})
  end
  if line and (due or state == 'paused' or not waits) then
    local changes = {hdel(feed_state, 'line', line)}
    if waits then changes[2] = zrem(line_key(line), url, waits) end
    find('I6', 'line.stray', url, {feed_state, line_key(line)},
         'the feed waits in a line ' .. (due and 'but is scheduled' or state == 'paused' and 'but is paused' or 'that does not list it'),
         changes)
  end
  local gate = gate_of(mine[11] or url)
  local stands = gate ~= line and zscore(line_key(gate), url)
  if stands then
    find('I6', 'line.stray', url, {line_key(gate), feed_state}, 'the feed is listed in a line in which it does not wait',
         {zrem(line_key(gate), url, stands)})
  end
  local locked = state == 'quarantined' or (state == 'paused' and mine[2] == 'quarantined')
  if locked and not since then
    find('I14', 'quarantine.missing', url, {quarantine_key, feed_state}, 'the feed is quarantined but missing from the set of quarantined feeds',
         {zadd(quarantine_key, url, false, mine[8] or text(now))})
  elseif since and not locked then
    find('I14', 'quarantine.stray', url, {quarantine_key, feed_state}, 'in the set of quarantined feeds but ' .. shown(state),
         {zrem(quarantine_key, url, since)})
  end
  if mine[3] and mine[3] == mine[5] then
    find('I7', 'claim.repeated', url, {feed_state}, 'claim ' .. shown(mine[3]) .. ' was committed but is held again',
         {hdel(feed_state, 'claim', mine[3])})
  elseif mine[3] and not (string.match(mine[3], '^%x+:%d+%-%d+$') or string.match(mine[3], '^%x+:push%d+$')) then
    find('I7', 'claim.malformed', url, {feed_state}, 'claim ' .. shown(mine[3]) .. ' is malformed',
         {hdel(feed_state, 'claim', mine[3])})
  elseif mine[3] and not tonumber(mine[4] or 'x') then
    find('I7', 'claim.due', url, {feed_state}, 'a claim is held, but claim_due is ' .. shown(mine[4]),
         {hset(feed_state, 'claim_due', mine[4], due and text(math.min(tonumber(due), now)) or text(now))})
  end
  local count_tombs = redis.call('ZCARD', tombs)
  if count_tombs > 20000 and not mine[6] then
    local changes = {}
    for i, guid in ipairs(redis.call('ZRANGE', tombs, 0, math.min(count_tombs - 20000, 1000) - 1)) do
      changes[i] = zrem(tombs, guid, redis.call('ZSCORE', tombs, guid))
    end
    find('I15', 'tombs.many', url, {tombs}, count_tombs .. ' tombstones, more than 20000', changes)
  end
  for _, guid in ipairs(redis.call('ZRANGEBYSCORE', tombs, '(' .. text(now + day), '(+inf', 'LIMIT', 0, 100)) do
    find('I15', 'tomb.score', url, {tombs}, 'the tombstone of ' .. shown(guid) .. ' has a time in the future',
         {zadd(tombs, guid, redis.call('ZSCORE', tombs, guid), text(now))})
  end
  for _, guid in ipairs(redis.call('ZRANGEBYSCORE', tombs, '-inf', '(0', 'LIMIT', 0, 100)) do
    find('I15', 'tomb.score', url, {tombs}, 'the tombstone of ' .. shown(guid) .. ' has a time before 1970',
         {zadd(tombs, guid, redis.call('ZSCORE', tombs, guid), '+inf')})
  end
end

local rank = tonumber(first)
local ids = redis.call('ZRANGE', sort, rank, rank + count - 1, 'WITHSCORES')
local has_tombs = redis.call('EXISTS', tombs) == 1
local facts, unknown, bytes = {}, 0, 0
local stored, textless_from = redis.call('ZCARD', sort), tonumber(mine[12] or nil)
local marks, differ, first_that_differs = {}, 0, nil
for at = 5, last_of_rows or 0, row_bytes do
  marks[string.sub(packed, at, at + 5)] = string.sub(packed, at + 6, at + row_bytes - 1)
end
for i = 1, #ids, 2 do
  local id, score = ids[i], ids[i + 1]
  local exists = is_entry(id) and type_of(id)
  local is = exists == 'hash' and
             redis.call('HMGET', id, 'feed_url', 'guid', 'digest', 'timestamp', 'rev', 'first_seen', 'last_changed',
                        'bytes')
  bytes = bytes + (is and tonumber(is[8] or nil) or 0)
  if not is then
    find('I4', 'index.dangling', url, {sort, id},
         exists and exists ~= 'none' and 'the entry is a ' .. exists .. ', not a hash' or 'the index lists ' .. shown(id) .. ', which is not an entry',
         {zrem(sort, id, score)})
  else
    local guid = is[2]
    local mapped = guid and redis.call('HGET', map, guid)
    if is[1] ~= url then
      local theirs = is[1] and guid and hget(guidmap_key(is[1]), guid) == id
      find('I3', 'entry.feed', url, {sort, id}, 'in the index, but its feed_url is ' .. shown(is[1]),
           theirs and {zrem(sort, id, score)} or mapped == id and {hset(id, 'feed_url', is[1], url)} or nil)
    elseif not guid then
      unknown = unknown + 1
      if redis.call('HLEN', map) < redis.call('ZCARD', sort) then  -- otherwise the walk through the map reports it
        find('I3', 'entry.guid', url, {id}, 'guid is missing')
      end
    elseif mapped ~= id then
      local entombed = redis.call('ZSCORE', tombs, guid)
      local other = mapped and is_entry(mapped) and type_of(mapped) == 'hash' and
                    redis.call('HMGET', mapped, 'feed_url', 'guid')
      if other and other[1] == url and other[2] == guid then
        find('I2', 'duplicate', url, {map, id, mapped}, 'guid ' .. shown(guid) .. ' is stored twice, as ' .. mapped .. ' and as ' .. id,
             {zrem(sort, id, score), del(id)})
      elseif not mapped and entombed then
        find('I3', 'trim.half', url, {id, tombs}, 'guid ' .. shown(guid) .. ' was trimmed, but its entry is left',
             {zrem(sort, id, score), del(id)})
      else
        find('I3', 'map.missing', url, {map, id}, 'guid ' .. shown(guid) .. ' leads to ' .. shown(mapped) .. ', not to its entry',
             {hset(map, guid, mapped, id)})
      end
    else
      if not is[3] then
        local mark = string.match(marks[packed_number(id)] or '0', '^%z*(.+)')  -- matches the same documents
        find('I4', 'digest.missing', url, {id}, 'the entry has no digest', {hset(id, 'digest', false, mark), repack(url)})
      elseif marks[packed_number(id)] ~= mark_of(is[3]) then
        differ, first_that_differs = differ + 1, first_that_differs or id
      end
      if has_tombs and redis.call('ZSCORE', tombs, guid) then
        find('I15', 'tomb.stored', url, {tombs, id}, 'guid ' .. shown(guid) .. ' is stored but has a tombstone',
             {zrem(tombs, guid, redis.call('ZSCORE', tombs, guid))})
      end
      local timestamp, rev = whole(is[4]), whole(is[5])
      local seen = math.max(whole(is[6]) or 0, whole(is[7]) or 0)
      if not timestamp then
        local place = tonumber(score)
        place = place and place >= 0 and place < 2 ^ 50 and place == math.floor(place) and text(place)
        find('I4', 'entry.timestamp', url, {id}, 'timestamp is ' .. shown(is[4]),
             place and {hset(id, 'timestamp', is[4], place)})
      elseif timestamp > (seen > 0 and seen or math.floor(now / 1000) + 60) then
        local most = text(seen > 0 and seen or math.floor(now / 1000))
        find('I4', 'entry.future', url, {id, sort}, 'timestamp ' .. is[4] .. ' is later than the fetch at ' .. most,
             {hset(id, 'timestamp', is[4], most), zadd(sort, id, score, most)})
      elseif tonumber(score) ~= timestamp then
        find('I4', 'index.score', url, {sort, id}, 'its score is ' .. score .. ', its timestamp ' .. is[4],
             {zadd(sort, id, score, is[4])})
      end
      local newer = stored - rank - (i + 1) / 2
      if textless_from and newer >= textless_from and
         (redis.call('HGET', id, 'content') or redis.call('HGET', id, 'summary')) then
        find('L34', 'texts.left', url, {feed_state, id}, 'the entry has texts, and ' .. newer .. ' posts are newer; those from ' ..
             mine[12] .. ' on have none', {hset(feed_state, 'texts', mine[12], text(stored))})
        textless_from = nil  -- one is enough: the next commit looks at all
      end
      if not rev or rev < 1 then
        find('I11', 'entry.rev', url, {id}, 'rev is ' .. shown(is[5]), {hset(id, 'rev', is[5], '1')})
      end
    end
    local n = #facts
    facts[n + 1], facts[n + 2], facts[n + 3], facts[n + 4] = id, is[5] or '', is[6] or '', is[7] or ''
  end
end
if not is_migrated then
  -- older forms of digests are not violations
elseif packed and not last_of_rows then
  find('I4', 'items.damaged', url, {items}, 'holds no digests', {repack(url)})
elseif differ > 0 then
  find('I4', 'digest.differs', url, {items, first_that_differs},
       differ .. ' digests are missing or differ from those of their entries', {repack(url)})
end
local old = old_digests_key(url)
if is_migrated and rank == 0 and redis.call('EXISTS', old) == 1 then
  find('I4', 'digests.old', url, {old}, 'was written by a build before schema 2', {del(old)})
end
-- With more posts than one step reads, the sum would mix several moments.
if rank == 0 and stored <= count and bytes ~= (tonumber(mine[9] or nil) or 0) then
  find('statistics', 'bytes.sum', url, {feed_state}, 'bytes is ' .. shown(mine[9]) .. ', its posts have ' .. text(bytes),
       {hset(feed_state, 'bytes', mine[9], text(bytes))})
end
local equal = stored == redis.call('HLEN', map) and (not is_migrated or 4 + stored * row_bytes == (last_of_rows or 4))
return {findings, #ids == 2 * count and text(rank + count) or '', state or 'new', (not equal or unknown > 0 or #findings > 0) and 1 or 0, facts}
