-- Appended to the prelude, except for unchanged.lua: all other keys, and writing of posts, signals and counters.
local states_key, meta_key = prefix .. 'stats:feeds:states', prefix .. 'meta:store'
local signals_key, counter_key = prefix .. 'stream:signals', prefix .. 'ids:Entry'
local feeds_key, quarantine_key, removals_key = prefix .. 'feeds', prefix .. 'quarantine', prefix .. 'state:removals'
local by_url_key = prefix .. 'state:feeds'  -- if broken, it must not stop adding or removing feeds (RELIABILITY L22)
local open_circuits_key = prefix .. 'state:hosts:closed'

-- The next number after `highest` that this partition may assign: partition i of P uses the numbers that leave the
-- remainder i when divided by P, so that no number is assigned twice (RELIABILITY L27).
local partitions, partition
local function number_behind(highest)
  if not partitions then
    local written = redis.call('HMGET', meta_key, 'partitions', 'partition')
    partitions, partition = tonumber(written[1] or nil) or 1, tonumber(written[2] or nil) or 0
  end
  return highest + 1 + (partition - highest - 1) % partitions
end
local function next_number()
  local number = number_behind(tonumber(redis.call('GET', counter_key) or 0))
  redis.call('SET', counter_key, text(number))
  return text(number)
end

local function entry_key(number) return prefix .. 'Entry:' .. number end
local function feed_key(url) return prefix .. 'Feed:' .. url end
local function sort_key(url) return prefix .. url .. ':sort' end
local function guidmap_key(url) return prefix .. url .. ':guidmap' end
local function tombs_key(url) return prefix .. url .. ':tombs' end
local function holders_key(url) return prefix .. 'state:channels:' .. url end
local function trace_key(url) return prefix .. 'state:trace:' .. url end
local function items_key(url) return prefix .. 'state:items:' .. url end
local function volatile_key(url) return prefix .. 'state:volatile:' .. url end
local function in_state_key(state) return prefix .. 'stats:feeds:in:' .. state end

-- One input of the field `why`, which explains to people when a feed is due (HTTP E1). Short enough to keep the hash a
-- listpack and not to look continued (state_fields.hpp).
local function due_input(code, ms, from)
  local seconds = text(math.floor(ms / 1000 + 0.5))
  return string.sub(code .. ' ' .. seconds .. (from and ' ' .. from or ''), 1, 63)
end

-- Counts a feed's change of state; nil: none. Feeds in any state except the usual one are also listed, by when they
-- entered it. The lists are for display only, so a key of the wrong type must not stop a commit half-way.
local function count_state(url, from, to, now)
  if from then redis.pcall('HINCRBY', states_key, from, -1) end
  if to then redis.pcall('HINCRBY', states_key, to, 1) end
  if from and from ~= 'healthy' then redis.pcall('ZREM', in_state_key(from), url) end
  if to and to ~= 'healthy' then redis.pcall('ZADD', in_state_key(to), text(now), url) end
end

-- The stream's byte cap (RELIABILITY L13). `bytes` of meta:store is "<total written> <total at the newest place>"; a
-- place is "<id> <total written up to it>", newest first.
local places_key = prefix .. 'state:signals_places'

-- Trims everything before the last `most` of `total` bytes; with may_go(id), only records that it accepts.
local function trim_to_bytes(total, most, may_go)
  local first
  while true do
    local place = redis.pcall('LRANGE', places_key, -1, -1)[1]
    local id, at = string.match(place or '', '^(%d+%-%d+) (%d+)$')
    if not place or id and (total - tonumber(at) < most or may_go and not may_go(id)) then break end
    redis.call('LTRIM', places_key, 0, -2)
    first = id or first
  end
  if first then redis.call('XTRIM', signals_key, 'MINID', '~', first) end
end

-- The limits for a writer of signals: records, bytes (nil = unlimited). ARGV has "100000" or "100000 67108864".
local function caps_of(stream_cap)
  local records = tonumber(stream_cap)
  if records then return records end
  local first, second = string.match(stream_cap, '^(%d+) (%d+)$')
  return tonumber(first), tonumber(second)
end

-- Counts the bytes that a writer writes and enforces the hard limit. Returns note(id, bytes), finish().
local function byte_counter(most)
  local total, placed = string.match(redis.call('HGET', meta_key, 'bytes') or '', '^(%d+) (%d+)$')
  local unknown = not total  -- and so are the totals in the places
  total, placed = tonumber(total) or 0, tonumber(placed) or 0
  local function note(id, bytes)
    if unknown then redis.call('DEL', places_key) end
    unknown, total = false, total + bytes
    if total - placed >= most / 32 then
      redis.pcall('LPUSH', places_key, id .. ' ' .. text(total))
      placed = total
    end
  end
  local function finish()
    trim_to_bytes(total, 2 * most)
    redis.call('HSET', meta_key, 'bytes', text(total) .. ' ' .. text(placed))
  end
  return note, finish
end

local quiet_of_feeds = {feed_created = true, feed_modified = true, feed_mended = true, feed_removed = true}

-- A writer of signals (DESIGN §4): signal(type, entity_type, entity_id as JSON, tail, channel or nil). `tail` is
-- the rest of the JSON object. The stream id is computed because the record contains it; finish() stores the last one.
-- A record without a channel is internal: in the stream only. The third argument: whether there is anything to write.
-- Only the hard limit, twice the cap, is enforced here: groups.lua trims to the cap up to the slowest group
-- (RELIABILITY L13). Ids continue after `seen`, an id that the writer has seen, and after any that a previous server
-- may have assigned (RELIABILITY L24); `prev` is still the last record that exists. Stores as `quiet` "<after> <up to>"
-- a range of records that do not concern operators. If delivery has no other recipients, it need not read them
-- (RELIABILITY L14). Records of writers without this note are not in the range.
local function signal_writer(now, stream_cap, wanted, seen)
  local noted = redis.call('HMGET', meta_key, 'last_signal', 'quiet', 'signals_from')
  local cap, most_bytes = caps_of(stream_cap)
  local last = noted[1] or '0-0'
  local ms, n = string.match(last, '^(%d+)-(%d+)$')
  local readable = ms ~= nil
  ms, n = tonumber(ms) or 0, tonumber(n) or 0
  -- If meta:store was lost or restored, the stream itself is more accurate, and XADD must not fail half-way. XREAD
  -- first: it returns a whole record only in that case.
  local newest = wanted and redis.call('XREAD', 'COUNT', 1, 'STREAMS', signals_key, readable and last or '0-0') and
                 redis.call('XREVRANGE', signals_key, '+', '-', 'COUNT', 1)[1]
  local function goes_on_behind(id)
    local other_ms, other_n = string.match(id or '', '^(%d+)-(%d+)$')
    other_ms, other_n = tonumber(other_ms), tonumber(other_n)
    local is_behind = other_ms and (other_ms > ms or other_ms == ms and other_n > n)
    if is_behind then ms, n = other_ms, other_n end
    return is_behind
  end
  if newest and goes_on_behind(newest[1]) then last = newest[1] end
  goes_on_behind(noted[3])
  goes_on_behind(seen)
  local quiet_after, quiet_up_to = string.match(noted[2] or '', '^(%S+) (%S+)$')
  if quiet_up_to ~= last then quiet_after = last end
  local written, note_bytes, finish_bytes = 0, nil, nil
  if most_bytes then note_bytes, finish_bytes = byte_counter(most_bytes) end
  local function signal(kind, entity_type, entity_id, tail, channel)
    if now > ms then ms, n = now, 1 else n = n + 1 end
    local seq = text(ms) .. '-' .. text(n)
    local json = '{"v":1,"seq":"' .. seq .. '","prev":"' .. last .. '","type":"' .. kind .. '","entity_type":"' ..
                 entity_type .. '","entity_id":' .. entity_id .. ',' .. tail
    if written == 0 then
      redis.call('XADD', signals_key, 'MAXLEN', '~', text(2 * cap), seq, 'type', kind, 'json', json)
    else
      redis.call('XADD', signals_key, seq, 'type', kind, 'json', json)
    end
    if channel then redis.call('PUBLISH', channel, json) end
    local beginning = string.sub(kind, 1, 5)
    if beginning ~= 'post_' and beginning ~= 'reque' and not quiet_of_feeds[kind] then quiet_after = seq end
    if note_bytes then note_bytes(seq, #json) end
    last, written = seq, written + 1
  end
  local function finish()
    if written > 0 then redis.call('HSET', meta_key, 'last_signal', last, 'quiet', quiet_after .. ' ' .. last) end
    if written > 0 and finish_bytes then finish_bytes() end
    return written, last
  end
  return signal, finish
end

-- A feed's post keys and their types.
local function post_keys(url)
  return {{sort_key(url), 'zset'}, {guidmap_key(url), 'hash'}, {tombs_key(url), 'zset'}, {items_key(url), 'string'}}
end

-- An error if a post cannot be removed completely: all checks come before the first write. nil = none.
local function unfit_to_delete(url)
  local wanted = post_keys(url)
  for _, pair in ipairs({{state_key(url), 'hash'}, {signals_key, 'stream'}, {meta_key, 'hash'}}) do
    wanted[#wanted + 1] = pair
  end
  for _, pair in ipairs(wanted) do
    local found = redis.call('TYPE', pair[1])['ok']
    if found ~= 'none' and found ~= pair[2] then return redis.error_reply('WRONGTYPE ' .. pair[1] .. ' is a ' .. found) end
  end
end

-- Digests of posts by entry id, '' = removed, for write_digests() in digests.lua.
local digest_changes = {}

-- Removes a post with everything that refers to it, and its bytes from the feed's count; its digest is left to
-- write_digests(). Returns its guid as JSON text ('""' if it had none), the raw guid, and its bytes.
local function delete_post(url, id)
  local mine = redis.pcall('HMGET', id, 'guid', 'bytes')
  if mine.err then mine = {} end  -- not a hash: remove it anyway
  local guid, bytes = mine[1], tonumber(mine[2] or nil) or 0
  redis.call('DEL', id)
  redis.call('ZREM', sort_key(url), id)
  digest_changes[id] = ''
  if bytes > 0 then redis.pcall('HINCRBY', state_key(url), 'bytes', -bytes) end
  if not guid then return '""', nil, bytes end
  redis.call('HDEL', guidmap_key(url), guid)
  return cjson.encode(guid), guid, bytes
end

-- The tail of post_trimmed and post_deleted.
local function deletion(now, url_json, guid_json, why)
  return '"action":"deleted","timestamp":' .. text(math.floor(now / 1000)) .. ',"feed_url":' .. url_json ..
         ',"guid":' .. guid_json .. ',"data":{"why":"' .. why .. '"}}'
end
