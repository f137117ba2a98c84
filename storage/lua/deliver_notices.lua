#!lua
-- uses posts deliver
-- replies array of 5
-- Adds notices to the lists of users: at most 30 each, list and hash always equal (RELIABILITY L16). With a target, each
-- record once and in order, as deliver_posts does.
-- ARGV: prefix, target ('' = not from the stream), then for each record: stream id, predecessor, number of notices,
-- and for each of these: user, notice id, value.
-- Returns {'ok' | 'hole', applied, repeated, refused by a key of the wrong type, last id applied}.
local most = 30
local pointer = ARGV[2] ~= '' and delivered_key(ARGV[2])
local last = pointer and redis.call('GET', pointer) or '0-0'
local applied, repeated, refused, result, at = 0, 0, 0, 'ok', 3

local function is_of_type(key, wanted)
  local found = redis.call('TYPE', key)['ok']
  return found == 'none' or found == wanted
end

local function add(user, id, value)
  local order, values = notice_order_key(user), notices_key(user)
  if not is_of_type(order, 'list') or not is_of_type(values, 'hash') then
    refused = refused + 1
    return
  end
  if redis.call('HSET', values, id, value) == 0 then return end
  redis.call('LPUSH', order, id)
  local fallen = redis.call('LRANGE', order, most, -1)
  if #fallen > 0 then
    redis.call('LTRIM', order, 0, most - 1)
    redis.call('HDEL', values, unpack(fallen))
  end
end

while at <= #ARGV do
  local id, before, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  at = at + 3
  if pointer and not after(id, last) then
    repeated = repeated + 1
  elseif pointer and before ~= '' and after(before, last) then
    result = 'hole'
    break
  else
    for i = at, at + count * 3 - 1, 3 do add(ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
    last = id
    applied = applied + 1
  end
  at = at + count * 3
end
if pointer and applied > 0 then redis.call('SET', pointer, last) end
return {result, applied, repeated, refused, last}
