#!lua flags=allow-oom
-- uses posts deliver digests verify
-- replies integer
-- Applies a finding's changes if every old value is still there, otherwise none. Signals the changes that readers see:
-- changed posts and feeds, and removed posts.
-- ARGV: prefix, stream cap, then repeated: what, key, field, old, new; in the last two the first byte is '=' before a
-- value, '-' for none.
-- Returns 1 = done, 0 = something has changed since.
local function value_of(argument) return string.sub(argument, 1, 1) == '=' and string.sub(argument, 2) end
local function as_it_was(what, key, field, old)
  if what == 'hset' and is_entry(key) and redis.call('EXISTS', key) == 0 then return false end  -- the entry has been
                                                                                                -- removed
  if what == 'hset' or what == 'hdel' or what == 'remove_feed' then return redis.pcall('HGET', key, field) == old end
  if what == 'zadd' or what == 'zrem' then return redis.pcall('ZSCORE', key, field) == old end
  if what == 'sadd' or what == 'srem' then return redis.pcall('SISMEMBER', key, field) == (what == 'sadd' and 0 or 1) end
  if what == 'remove_channel' then return redis.call('SISMEMBER', key, field) == 0 end
  if what == 'set' then return redis.pcall('GET', key) == old end
  if what == 'del' then return type_of(key) == field and fingerprint(key) == old end
  if what == 'list' then return cjson.encode(redis.call('LRANGE', key, 0, -1)) == old end
  if what == 'gone' then return redis.call('EXISTS', key) == 0 end
  return what == 'xtrim' or what == 'digests'
end
-- The entry or feed record in which readers see a change; nil = none. A wrong rev is corrected without raising it.
local own = {bytes = true, digest = true, rev = true}
local function shown_in(what, key, field)
  if (what ~= 'hset' and what ~= 'hdel') or own[field] then return end
  local from = feed_key('')
  if is_entry(key) or string.sub(key, 1, #from) == from then return key end
end
local function mended(key, fields, now, signal)
  local names = '"fields":["' .. table.concat(fields, '","') .. '"]'
  local about = '"action":"updated","timestamp":' .. text(math.floor(now / 1000)) .. ',"feed_url":'
  if not is_entry(key) then
    local url = cjson.encode(string.sub(key, #feed_key('') + 1))
    return signal('feed_mended', 'feed', url, about .. url .. ',"data":{' .. names .. '}}')
  end
  local is = redis.call('HMGET', key, 'feed_url', 'guid', 'rev', 'timestamp')
  if not (is[1] and is[2] and whole(is[3])) then return end  -- has its own finding, repaired first
  local rev = text(whole(is[3]) + 1)
  redis.call('HSET', key, 'rev', rev)
  signal('post_mended', 'post', '"' .. key .. '"', about .. cjson.encode(is[1]) .. ',"guid":' .. cjson.encode(is[2]) ..
         ',"rev":' .. rev .. ',"data":{' .. (whole(is[4]) and '"timestamp":' .. text(whole(is[4])) .. ',' or '') .. names .. '}}')
end

-- A later change may depend on an earlier one of the same field.
local made, wanted = {}, false
local touched, order, gone = {}, {}, {}  -- fields by key, and the keys; removed entries, as {id, feed_url, guid}
for i = 3, #ARGV, 5 do
  local what, key, field, old = ARGV[i], ARGV[i + 1], ARGV[i + 2], value_of(ARGV[i + 3])
  local before = made[key .. '\n' .. field]
  if before ~= nil then
    if before ~= old then return 0 end
  elseif not as_it_was(what, key, field, old) then
    return 0
  end
  made[key .. '\n' .. field] = value_of(ARGV[i + 4])
  local key_shown = shown_in(what, key, field)
  if key_shown then
    if not touched[key] then touched[key], order[#order + 1] = {}, key end
    table.insert(touched[key], field)
  end
  if what == 'del' and is_entry(key) and field == 'hash' then
    local is = redis.call('HMGET', key, 'feed_url', 'guid')
    gone[#gone + 1] = {key, is[1] or '', is[2] or ''}
  end
  wanted = wanted or what == 'gone' or key_shown or #gone > 0
end
local now = clock()
local signal, finish_signals = signal_writer(now, ARGV[2], wanted)
for i = 3, #ARGV, 5 do
  local what, key, field, new = ARGV[i], ARGV[i + 1], ARGV[i + 2], value_of(ARGV[i + 4])
  if what == 'hset' then redis.call('HSET', key, field, new)
  elseif what == 'hdel' then redis.call('HDEL', key, field)
  elseif what == 'zadd' then redis.call('ZADD', key, new, field)
  elseif what == 'zrem' then redis.call('ZREM', key, field)
  elseif what == 'sadd' then redis.call('SADD', key, field)
  elseif what == 'srem' then redis.call('SREM', key, field)
  elseif what == 'set' then redis.call('SET', key, new)
  elseif what == 'del' then redis.call('DEL', key)
  elseif what == 'digests' then rebuild_digests(field)
  elseif what == 'gone' then  -- a lost entry counts as trimmed for readers of the stream
    signal('post_trimmed', 'post', cjson.encode(key), deletion(now, cjson.encode(field), cjson.encode(new or ''), 'lost'))
  elseif what == 'xtrim' then redis.call('XTRIM', key, 'MAXLEN', new)
  elseif what == 'list' then
    redis.call('DEL', key)
    local ids = new == '{}' and {} or cjson.decode(new)
    for j = #ids, 1, -1 do redis.call('LPUSH', key, ids[j]) end
  end
end
for _, key in ipairs(order) do mended(key, touched[key], now, signal) end
for _, post in ipairs(gone) do
  signal('post_trimmed', 'post', '"' .. post[1] .. '"', deletion(now, cjson.encode(post[2]), cjson.encode(post[3]), 'lost'))
end
finish_signals()
return 1
