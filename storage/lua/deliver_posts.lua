#!lua
-- uses posts deliver
-- replies array of 7
-- Applies signals to the timelines, each once and in order, a bounded number of timelines per call (RELIABILITY L14,
-- L15).
-- ARGV: prefix, target, channel prefix, whether to publish per feed (1/0), where to continue with the first record ('0'
-- = at its start), then for each record: stream id, predecessor ('' = unknown), 'add' | 'move' | 'drop' | '', entry id,
-- feed_url, score, type, JSON ('' unless published).
-- Returns {'ok' | 'hole' | 'part', applied, repeated, refused by a key of the wrong type, last id applied, indexes that
-- have become short and must be rebuilt, where to continue with the first record not applied}.
local records, channel_prefix, publish, from = records_of(ARGV[2]), ARGV[3], ARGV[4] == '1', ARGV[5]
local refused, short, now = 0, 0, text(clock())
local known, floors = {}, {}
local is_of_stream = ARGV[2] ~= ''
local are_kept = not is_of_stream or are_indexes_kept(records.last)
if not are_kept then
  redis.call('DEL', floors_key)
  short = 1
end
local most = 500
local room = most

-- Updates the index of all posts of a channel.
local function keep_index(action, uid, id, score)
  local key, floor = index_key(uid), floors[uid] or floor_of(uid)
  local done
  if action ~= 'drop' and is_above(floor, score, id) then
    done = redis.pcall('ZADD', key, score, id)
    if type(done) == 'number' then floor = trim_index(uid, floor) end
  else
    done = redis.pcall('ZREM', key, id)
    if done == 1 and has_fallen(floor) and redis.call('ZCARD', key) < index_least / 2 then
      floor, short = '~', short + 1
      redis.pcall('HSET', floors_key, uid, floor)
    end
  end
  floors[uid] = floor
  return done
end

local function carry_out(action, uid, id, score)
  if action == 'add' then
    local read = redis.pcall('ZSCORE', channel_read_key(uid), id)
    if read then return read end
    return redis.pcall('ZADD', timeline_key(uid), score, id)
  elseif action == 'move' then
    return redis.pcall('ZADD', timeline_key(uid), 'XX', score, id)
  end
  local gone = redis.pcall('ZREM', timeline_key(uid), id)
  local read = redis.pcall('ZSCORE', channel_read_key(uid), id)
  if type(read) == 'string' then redis.call('ZADD', gone_key, 'NX', now, id .. ' ' .. uid) end
  return gone
end

-- The next channels that hold a feed, and where to continue ('0' = at the end); none if they do not fit into this call.
-- A scan may return channels twice, also after a crash: applying a post again changes nothing.
local function next_holders(url)
  if not known[url] then
    local count = redis.call('SCARD', holders_key(url))
    if count > room then
      if room < most or count <= most then return end
      local page = redis.call('SSCAN', holders_key(url), from, 'COUNT', most * 9 / 10)  -- may return a few more
      return page[2], page[1]
    end
    known[url] = redis.call('SMEMBERS', holders_key(url))
  end
  if #known[url] <= room then return known[url], '0' end
end

local function apply(action, uid, id, score)
  for _, follow in ipairs({carry_out, keep_index}) do
    local done = follow(action, uid, id, score)
    if type(done) == 'table' and done['err'] then refused = refused + 1 end
  end
end

for i = 6, #ARGV, 8 do
  local id, before, action, entry, url, score, kind, json = unpack(ARGV, i, i + 7)
  local is_next = records.is_next(id, before)
  if is_next == nil then break end
  if is_next and action ~= '' then
    local uids, rest = next_holders(url)
    for _, uid in ipairs(uids or {}) do apply(action, uid, entry, score) end
    if rest ~= '0' then
      records.result, from = 'part', rest or from
      break
    end
    room = room - #uids
  end
  if is_next then
    if publish and json ~= '' then redis.call('PUBLISH', channel_prefix .. kind .. ':' .. url, json) end
    records.done(id)
  end
  from = '0'
end
records.finish()
if is_of_stream and (records.applied > 0 or not are_kept) then redis.call('SET', indexed_key, records.last) end
return {records.result, records.applied, records.repeated, refused, records.last, short, from}
