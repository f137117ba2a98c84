#!lua flags=no-writes
-- uses posts deliver verify
-- replies array of 2
-- Checks whether keys found by a scan belong to a feed (RELIABILITY I13). Writes nothing.
-- ARGV: prefix, n, n keys of entries, then URLs of feeds that have at least one of their keys.
-- Returns {findings, {feed URLs to examine individually}}.
local examine = {}
local last = 2 + tonumber(ARGV[2])
for i = 3, last do
  local id = ARGV[i]
  local kind = type_of(id)
  local is = kind == 'hash' and redis.call('HMGET', id, 'feed_url', 'guid', 'timestamp')
  local url, guid = is and is[1], is and is[2]
  if kind == 'none' then
    -- removed since the scan
  elseif not is_entry(id) or not is then
    find('I13', 'entry.stray', '', {id}, kind == 'hash' and 'not numbered as an entry is' or 'is a ' .. kind .. ', not a hash')
  elseif not url or not guid then
    find('I13', 'entry.stray', url or '', {id}, url and 'guid is missing' or 'feed_url is missing')
  elseif redis.call('SISMEMBER', feeds_key, url) == 0 then
    if redis.call('EXISTS', state_key(url)) == 0 or not zscore(sort_key(url), id) then
      find('I13', 'entry.orphan', url, {id}, 'its feed is not registered', {del(id)})
    end
  else
    local map, sort = guidmap_key(url), sort_key(url)
    local mapped = redis.pcall('HGET', map, guid)
    local place = redis.pcall('ZSCORE', sort, id)
    if type(mapped) == 'table' or type(place) == 'table' or mapped == id or place then
      -- errors in these are reported with the feed
    elseif not mapped and zscore(tombs_key(url), guid) then
      find('I3', 'trim.half', url, {id, tombs_key(url)}, 'guid ' .. shown(guid) .. ' was trimmed, but its entry is left', {del(id)})
    elseif not mapped and whole(is[3]) then
      find('I3', 'map.missing', url, {map, sort, id}, 'the entry of guid ' .. shown(guid) .. ' is in neither map nor index',
           {hset(map, guid, false, id), zadd(sort, id, false, is[3]), repack(url)})
    elseif mapped then
      find('I2', 'duplicate', url, {map, id, mapped}, 'guid ' .. shown(guid) .. ' is stored twice, as ' .. mapped .. ' and as ' .. id,
           {del(id)})
    else
      find('I3', 'map.missing', url, {map, id}, 'the entry of guid ' .. shown(guid) .. ' is in neither map nor index')
    end
  end
end
for i = last + 1, #ARGV do
  local url = ARGV[i]
  if redis.call('EXISTS', state_key(url)) == 0 then
    if redis.call('SISMEMBER', feeds_key, url) == 1 then
      examine[#examine + 1] = url
    else
      for _, key in ipairs(family(url)) do
        if redis.call('EXISTS', key) == 1 then
          find('I13', 'feed.orphan', url, {key}, 'a key of a feed that is not registered', {del(key)})
        end
      end
    end
  end
end
return {findings, examine}
