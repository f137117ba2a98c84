-- Appended to the prelude in the scripts for delivery, to keep it out of the hot path of ingest.
local channels_key, gone_key = prefix .. 'channels', prefix .. 'state:channels_gone'
local watchers_key, watch_version_key = prefix .. 'state:watchers', prefix .. 'state:watch_version'
local function channel_order_key(uid) return prefix .. 'channel_sortorder_' .. uid end
local function channel_feeds_key(uid) return prefix .. 'channel:' .. uid .. ':feeds' end
local function channel_read_key(uid) return prefix .. 'channel:' .. uid .. ':read' end
local function channel_titles_key(uid) return prefix .. 'channel:' .. uid .. ':titles' end
local function timeline_key(uid) return prefix .. 'zchannel:' .. uid .. ':posts' end
local function index_key(uid) return prefix .. 'zchannel:' .. uid .. ':all' end
local function notice_order_key(user) return prefix .. 'list:notification:user_id:' .. user end
local function notices_key(user) return prefix .. 'hash:notification:user_id:' .. user end
local function watches_key(user) return prefix .. 'state:watches:' .. user end
local function delivered_key(target) return prefix .. 'deliver:' .. target .. ':000' end

-- Whether stream id a is after b.
local function after(a, b)
  local a_ms, a_n = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_n = string.match(b, '^(%d+)-(%d+)$')
  a_ms, b_ms = tonumber(a_ms) or 0, tonumber(b_ms) or 0
  if a_ms ~= b_ms then return a_ms > b_ms end
  return (tonumber(a_n) or 0) > (tonumber(b_n) or 0)
end

-- Walks through stream records for a target (RELIABILITY L14). `is_next` takes a record's stream id and predecessor (''
-- = unknown). It returns whether to apply the record; nil at a hole: its predecessor has not been applied. `done` marks
-- it applied; `take` does both. `finish` stores the position. `target`: '' = the records are not from the stream, apply
-- all.
local function records_of(target)
  local pointer = target ~= '' and delivered_key(target)
  local walk = {result = 'ok', applied = 0, repeated = 0, last = pointer and redis.call('GET', pointer) or '0-0'}
  function walk.is_next(id, before)
    if pointer and not after(id, walk.last) then
      walk.repeated = walk.repeated + 1
      return false
    elseif pointer and before ~= '' and after(before, walk.last) then
      walk.result = 'hole'
      return nil
    end
    return true
  end
  function walk.done(id) walk.last, walk.applied = id, walk.applied + 1 end
  function walk.take(id, before)
    local is_next = walk.is_next(id, before)
    if is_next then walk.done(id) end
    return is_next
  end
  function walk.finish()
    if pointer and walk.applied > 0 then redis.call('SET', pointer, walk.last) end
  end
  return walk
end

-- The index of all posts of a channel (RELIABILITY L15). Its floor is "<score> <id>" of the last post trimmed from it,
-- '' if none was; with "~" in front, or without a floor, it is not built yet.
local floors_key = prefix .. 'channel_floors'
local index_most, index_least = 1100, 1000

local function floor_of(uid)
  local floor = redis.pcall('HGET', floors_key, uid)
  return type(floor) == 'string' and floor or '~'
end
-- Position of all indexes. If it differs from the timelines' position, a build without indexes has delivered.
local indexed_key = delivered_key('indexes')
local function are_indexes_kept(place) return (redis.call('GET', indexed_key) or '0-0') == place end

local function has_fallen(floor) return string.find(floor, ' ', 1, true) ~= nil end

local function is_above(floor, score, id)
  local last_score, last = string.match(floor, '^~?(%S+) (.+)$')
  last_score, score = tonumber(last_score), tonumber(score)
  return not last_score or score > last_score or score == last_score and id > last
end

-- Trims an index to its bound. Returns its floor.
local function trim_index(uid, floor)
  local key = index_key(uid)
  local count = redis.call('ZCARD', key)
  if count <= index_most then return floor end
  local surplus = count - index_least
  local last = redis.call('ZRANGE', key, surplus - 1, surplus - 1, 'WITHSCORES')
  redis.call('ZREMRANGEBYRANK', key, 0, surplus - 1)
  floor = string.match(floor, '^~?') .. last[2] .. ' ' .. last[1]
  redis.pcall('HSET', floors_key, uid, floor)
  return floor
end
