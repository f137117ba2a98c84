#!lua flags=allow-oom
-- uses posts deliver verify
-- replies integer
-- Makes the changes that a finding asks for, if every one finds what it was told; else none.
-- ARGV: prefix, stream cap, then what, key, field, old, new in turn; of the last two the first byte is '=' before a value,
-- '-' for none.
-- Returns 1 = done, 0 = something has changed since.
local function value_of(argument) return string.sub(argument, 1, 1) == '=' and string.sub(argument, 2) end
local function as_it_was(what, key, field, old)
  if what == 'hset' and is_entry(key) and redis.call('EXISTS', key) == 0 then return false end  -- it went before
  if what == 'hset' or what == 'hdel' or what == 'remove_feed' then return redis.pcall('HGET', key, field) == old end
  if what == 'zadd' or what == 'zrem' then return redis.pcall('ZSCORE', key, field) == old end
  if what == 'sadd' or what == 'srem' then return redis.pcall('SISMEMBER', key, field) == (what == 'sadd' and 0 or 1) end
  if what == 'remove_channel' then return redis.call('SISMEMBER', key, field) == 0 end
  if what == 'set' then return redis.pcall('GET', key) == old end
  if what == 'del' then return type_of(key) == field and fingerprint(key) == old end
  if what == 'list' then return cjson.encode(redis.call('LRANGE', key, 0, -1)) == old end
  if what == 'gone' then return redis.call('EXISTS', key) == 0 end
  return what == 'xtrim'
end
-- A later change may rest on an earlier one of the same field.
local made, wanted = {}, false
for i = 3, #ARGV, 5 do
  local what, key, field, old = ARGV[i], ARGV[i + 1], ARGV[i + 2], value_of(ARGV[i + 3])
  local before = made[key .. '\n' .. field]
  if before ~= nil then
    if before ~= old then return 0 end
  elseif not as_it_was(what, key, field, old) then
    return 0
  end
  made[key .. '\n' .. field] = value_of(ARGV[i + 4])
  wanted = wanted or what == 'gone'
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
  elseif what == 'gone' then  -- an entry that is lost is trimmed, for those who follow the stream
    signal('post_trimmed', 'post', cjson.encode(key), deletion(now, cjson.encode(field), cjson.encode(new or ''), 'lost'))
  elseif what == 'xtrim' then redis.call('XTRIM', key, 'MAXLEN', new)
  elseif what == 'list' then
    redis.call('DEL', key)
    local ids = new == '{}' and {} or cjson.decode(new)
    for j = #ids, 1, -1 do redis.call('LPUSH', key, ids[j]) end
  end
end
finish_signals()
return 1
