-- Appended to the other parts in the scripts that check the store: reporting of findings. A finding is {invariant,
-- kind, feed_url, keys, detail, changes}. A change is {what, key, field, old, new}, which repair.lua makes while the
-- old value (false = none) is still there; no changes: it cannot be repaired without guessing.
local findings, most_findings = {}, 200
local function find(invariant, kind, url, keys, detail, changes)
  if #findings < most_findings then findings[#findings + 1] = {invariant, kind, url, keys, detail, changes or {}} end
end
local function shown(value)
  if not value then return 'missing' end
  return '"' .. string.sub(value, 1, 120) .. '"'
end
local function whole(value) return value and #value < 16 and string.match(value, '^%d+$') and tonumber(value) end
local function is_entry(id)
  local from = entry_key('')
  return string.sub(id, 1, #from) == from and string.match(string.sub(id, #from + 1), '^[1-9]%d*$') ~= nil
end

-- Also false if the key has another type: reported where the key itself is checked.
local function hget(key, field)
  local value = redis.pcall('HGET', key, field)
  return type(value) == 'string' and value
end
local function zscore(key, member)
  local value = redis.pcall('ZSCORE', key, member)
  return type(value) == 'string' and value
end
local function type_of(key) return redis.call('TYPE', key)['ok'] end

-- Enough of a key's content to detect later changes.
local function fingerprint(key)
  local kind, of = type_of(key), nil
  if kind == 'hash' then
    of = {redis.call('HLEN', key)}
    for _, value in ipairs(redis.call('HMGET', key, 'feed_url', 'guid', 'rev', 'last_changed', 'state')) do
      of[#of + 1] = value or '-'
    end
  elseif kind == 'zset' then of = redis.call('ZRANGE', key, 0, 9, 'WITHSCORES'); of[#of + 1] = redis.call('ZCARD', key)
  elseif kind == 'list' then of = redis.call('LRANGE', key, 0, 9); of[#of + 1] = redis.call('LLEN', key)
  elseif kind == 'set' then of = {redis.call('SCARD', key)}
  elseif kind == 'string' then of = {redis.call('GET', key)}
  else of = {kind == 'stream' and redis.call('XLEN', key) or 0} end
  return redis.sha1hex(kind .. ' ' .. table.concat(of, '\n'))
end

local function hset(key, field, old, new) return {'hset', key, field, old or false, new} end
local function hdel(key, field, old) return {'hdel', key, field, old or false, false} end
local function zadd(key, member, old, new) return {'zadd', key, member, old or false, new} end
local function zrem(key, member, old) return {'zrem', key, member, old, false} end
local function sadd(key, member) return {'sadd', key, member, false, member} end
local function srem(key, member) return {'srem', key, member, member, false} end
local function set(key, old, new) return {'set', key, '', old or false, new} end
local function repack(url) return {'digests', items_key(url), url, false, false} end
local function del(key) return {'del', key, type_of(key), fingerprint(key), false} end

local function old_digests_key(url) return prefix .. url .. ':digests' end

-- All keys of a feed.
local function family(url)
  return {feed_key(url), sort_key(url), guidmap_key(url), old_digests_key(url), tombs_key(url), items_key(url),
          volatile_key(url), state_key(url)}
end
