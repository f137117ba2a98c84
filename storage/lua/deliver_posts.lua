#!lua
-- uses posts deliver
-- replies array of 6
-- Applies signals to the timelines, each once and in order (RELIABILITY L14, L15).
-- ARGV: prefix, target, channel prefix, whether to publish per feed (1/0), then for each record: stream id,
-- predecessor ('' = unknown), 'add' | 'move' | 'drop' | '', entry id, feed_url, score, type, JSON ('' unless published).
-- Returns {'ok' | 'hole', applied, repeated, refused by a key of the wrong type, last id applied, indexes that have become
-- short and are to be built anew}.
local records, channel_prefix, publish = records_of(ARGV[2]), ARGV[3], ARGV[4] == '1'
local refused, short, now = 0, 0, text(clock())
local holders, floors = {}, {}

-- All posts of the channel.
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

for i = 5, #ARGV, 8 do
  local id, before, action, entry, url, score, kind, json = unpack(ARGV, i, i + 7)
  local is_next = records.take(id, before)
  if is_next == nil then break end
  if is_next and action ~= '' then
    holders[url] = holders[url] or redis.call('SMEMBERS', holders_key(url))
    for _, uid in ipairs(holders[url]) do
      for _, follow in ipairs({carry_out, keep_index}) do
        local done = follow(action, uid, entry, score)
        if type(done) == 'table' and done['err'] then refused = refused + 1 end
      end
    end
  end
  if is_next and publish and json ~= '' then redis.call('PUBLISH', channel_prefix .. kind .. ':' .. url, json) end
end
records.finish()
return {records.result, records.applied, records.repeated, refused, records.last, short}
