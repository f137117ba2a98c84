#!lua
-- uses posts deliver
-- replies array of 5
-- Adds notices to users' lists: at most 30 each, list and hash always equal (RELIABILITY L16). A user keeps the newest;
-- operators lose the oldest notice of the most frequent kind, so that many of one kind do not push out the others. With
-- a target, each record once and in order, as in deliver_posts. New notices are published (DESIGN §4).
-- ARGV: prefix, channel prefix, target ('' = not from the stream), then for each record: stream id, predecessor,
-- whether the next one continues it (1/0), number of notices, and for each of these: user, notice id, value, message,
-- counted topics.
-- Returns {'ok' | 'hole', applied, repeated, refused by a key of the wrong type, last id applied}.
local most = 30
local channel = ARGV[2] .. 'notifications:'
local records, refused, at = records_of(ARGV[3]), 0, 4

local function is_of_type(key, wanted)
  local found = redis.call('TYPE', key)['ok']
  return found == 'none' or found == wanted
end

local function publish(user, message, first, last_topic)
  redis.call('PUBLISH', channel .. user, message)
  if user ~= 'global' then redis.call('PUBLISH', channel .. 'global', message) end
  for i = first, last_topic do redis.call('PUBLISH', channel .. 'topic:' .. ARGV[i], message) end
end

-- What an operators' notice is about; feeds that were never read, mostly wrong addresses, are a kind of their own. Also
-- in timelines_of_all.cpp.
local function kind_of(value)
  if string.find(value, '"state":"never_read"', 1, true) then return 'never_read' end
  return string.match(value, '"type":"([%w_]+)"') or ''
end

-- The ids to drop from an operators' list, newest first, that has one or more notices too many.
local function surplus_of(ids, values)
  local kinds, counts = redis.call('HMGET', values, unpack(ids)), {}
  for i = 1, #ids do
    kinds[i] = kind_of(kinds[i] or '')
    counts[kinds[i]] = (counts[kinds[i]] or 0) + 1
  end
  local fallen, gone = {}, {}
  for _ = most + 1, #ids do
    local worst
    for i = #ids, 1, -1 do  -- of equally frequent kinds, the one with the oldest notice
      if not gone[i] and (not worst or counts[kinds[i]] > counts[kinds[worst]]) then worst = i end
    end
    counts[kinds[worst]], gone[worst] = counts[kinds[worst]] - 1, true
    fallen[#fallen + 1] = ids[worst]
  end
  return fallen
end

-- Adds the notice that starts at ARGV[from]; its last topic is ARGV[to].
local function add(from, to)
  local user, id, value, message = ARGV[from], ARGV[from + 1], ARGV[from + 2], ARGV[from + 3]
  local order, values = notice_order_key(user), notices_key(user)
  if not is_of_type(order, 'list') or not is_of_type(values, 'hash') then
    refused = refused + 1
    return
  end
  if redis.call('HSET', values, id, value) == 0 then return end
  local length = redis.call('LPUSH', order, id)
  if length > most and user == '_operator' then
    for _, fallen in ipairs(surplus_of(redis.call('LRANGE', order, 0, -1), values)) do
      redis.call('LREM', order, -1, fallen)
      redis.call('HDEL', values, fallen)
    end
  elseif length > most then
    redis.call('HDEL', values, unpack(redis.call('LRANGE', order, most, -1)))
    redis.call('LTRIM', order, 0, most - 1)
  end
  publish(user, message, from + 5, to)
end

while at <= #ARGV do
  local id, before, more, count = ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1', tonumber(ARGV[at + 3])
  local is_next = records.is_next(id, before)
  if is_next == nil then break end
  at = at + 4
  for _ = 1, count do
    local to = at + 4 + tonumber(ARGV[at + 4])
    if is_next then add(at, to) end
    at = to + 1
  end
  if is_next and not more then records.done(id) end
end
records.finish()
return {records.result, records.applied, records.repeated, refused, records.last}
