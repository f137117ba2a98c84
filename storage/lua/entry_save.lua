#!lua
-- uses posts digests host requests
-- replies array of 1
-- answers requests
-- Creates or changes one post for an operator, if it is still as the caller read it. A changed post keeps its digest,
-- which identifies the publisher's version: only a change of that version replaces the operator's.
-- ARGV: prefix, channel prefix, feed_url, its JSON text, stream cap, guid, id ('' = new), rev as read, digest, score,
-- bytes, signal without its head, then counted fields to set (name, value), counted fields to remove.
-- Returns {'created' | 'modified', id}; {'unknown'} = no such feed; {'changed'}: read it again; {'type <key>'}: nothing
-- was written.
local channel_prefix, url, url_json, stream_cap, guid, id, rev, digest, score, bytes, tail = unpack(ARGV, 2, 12)
if redis.call('SISMEMBER', feeds_key, url) == 0 then return {'unknown'} end
local sort, map, tombs = sort_key(url), guidmap_key(url), tombs_key(url)
for _, pair in ipairs({{sort, 'zset'}, {map, 'hash'}, {tombs, 'zset'}, {items_key(url), 'string'},
                       {counter_key, 'string'}, {signals_key, 'stream'}, {meta_key, 'hash'}, {state_key(url), 'hash'}}) do
  local found = redis.call('TYPE', pair[1])['ok']
  if found ~= 'none' and found ~= pair[2] then return {'type ' .. pair[1] .. ' is a ' .. found} end
end
local mapped = redis.call('HGET', map, guid) or ''
if mapped ~= id then return {'changed'} end
local mine = id ~= '' and redis.call('HMGET', id, 'rev', 'bytes') or {}
if (mine[1] or '') ~= rev then return {'changed'} end

local function counted(from, width)
  local first, last = from + 1, from + tonumber(ARGV[from]) * width
  return last, {unpack(ARGV, first, last)}
end
local last, set = counted(13, 2)
local _, unset = counted(last + 1, 1)
local created = id == ''
local signal, finish_signals = signal_writer(clock(), stream_cap, true)
if created then
  id = entry_key(next_number())
  redis.call('HSET', id, 'feed_url', url, 'guid', guid, 'digest', digest, 'bytes', bytes, unpack(set))
  redis.call('HSET', map, guid, id)
  redis.call('ZADD', sort, score, id)
  redis.call('ZREM', tombs, guid)
  digest_changes[id] = digest
  write_digests(url, '')
else
  redis.call('HSET', id, 'bytes', bytes, unpack(set))
  if #unset > 0 then redis.call('HDEL', id, unpack(unset)) end
  redis.call('ZADD', sort, 'XX', score, id)
end
redis.call('HINCRBY', state_key(url), 'bytes', tonumber(bytes) - tonumber(mine[2] or 0))
if redis.call('HGET', state_key(url), 'texts') then  -- the next commit drops texts (RELIABILITY L34)
  redis.call('HSET', state_key(url), 'texts', redis.call('ZCARD', sort))
end
local became = created and 'created' or 'modified'
signal('post_' .. became, 'post', '"' .. id .. '"', tail, channel_prefix .. 'post_' .. became)
finish_signals()
return {became, id}
