#!lua flags=no-writes
-- uses posts host
-- replies array of 9
-- What is known of the guids of a document (RELIABILITY L5). Writes nothing.
-- ARGV: prefix, feed_url, number of the rules that the document is stored by ('' = no matter), n, n guids, n digests,
-- guids that the document says are deleted.
-- Returns {marks, {feed…}, {left…}, {back…}, {{id, {entry…}}…}, posts stored, score of the newest, has tombstones (1/0),
-- {date…}}: one mark a guid ('+' unknown, 'x' tombstoned, '=' same, 'o' same, but the feed was last stored by other rules,
-- '~' different), the readers' record, tombstones to touch, what is stored for each 'o' and '~' in their order, and of each
-- deleted guid '' or what date its post has ('0': none).
local url, rules, n = ARGV[2], ARGV[3], tonumber(ARGV[4])
local other_rules = rules ~= '' and redis.call('HGET', feed_key(url), 'san_ver') ~= rules
local marks, listed, different = {}, {}, {}
local has_tombs = redis.call('EXISTS', tombs_key(url)) == 1
for first = 1, n, 1000 do
  local last = math.min(first + 999, n)
  local digests = redis.call('HMGET', digests_key(url), unpack(ARGV, 4 + first, 4 + last))
  for i = first, last do
    local guid, stored = ARGV[4 + i], digests[i - first + 1]
    listed[guid] = true
    if not stored then
      marks[i] = has_tombs and redis.call('ZSCORE', tombs_key(url), guid) and 'x' or '+'
    elseif stored == ARGV[4 + n + i] and not other_rules then
      marks[i] = '='
    else
      local id = redis.call('HGET', guidmap_key(url), guid)
      if stored == ARGV[4 + n + i] then marks[i] = id and 'o' or '='
      else marks[i] = id and '~' or '+' end  -- a digest that is left of nothing keeps no post away
      if id then different[#different + 1] = {id, redis.call('HGETALL', id)} end
    end
  end
end
local left, back = {}, {}
if has_tombs then
  for _, guid in ipairs(redis.call('ZRANGEBYSCORE', tombs_key(url), '+inf', '+inf')) do
    if not listed[guid] then left[#left + 1] = guid end
  end
  for _, guid in ipairs(redis.call('ZRANGEBYSCORE', tombs_key(url), '-inf', '(+inf')) do
    if listed[guid] then back[#back + 1] = guid end
  end
end
local deletable = {}
for i = 5 + 2 * n, #ARGV do
  local id = redis.call('HGET', guidmap_key(url), ARGV[i])
  local dates = id and redis.call('HMGET', id, 'date_updated', 'date_published')
  deletable[#deletable + 1] = dates and (dates[1] or dates[2] or '0') or ''
end
local newest = redis.call('ZRANGE', sort_key(url), 0, 0, 'REV', 'WITHSCORES')
return {table.concat(marks), redis.call('HGETALL', feed_key(url)), left, back, different, redis.call('ZCARD', sort_key(url)),
        newest[2] or '0', has_tombs and 1 or 0, deletable}
