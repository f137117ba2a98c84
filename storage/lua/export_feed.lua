#!lua flags=no-writes
-- uses posts host
-- replies array of 1
-- One bounded step of exporting a feed. Writes nothing.
-- ARGV: prefix, feed_url, first rank, how many.
-- Returns {stamp ('' = not registered), {id, score, {fields…}}…}; in the first step also, after the stamp: due ('' =
-- not scheduled), quarantined since ('' = not), {state…}, {readers' record…}, {tombstones with scores…}. While the
-- stamp is the same, nothing exported has changed.
local url, first, count = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if redis.call('SISMEMBER', feeds_key, url) == 0 then return {''} end
local sort, state = sort_key(url), state_key(url)
local mine = redis.call('HMGET', state, 'last_claim', 'claim_part', 'settings', 'state', 'fetch_url')
for i = 1, 5 do mine[i] = mine[i] or '' end
local stamp = redis.sha1hex(table.concat(mine, '\n') .. redis.call('ZCARD', tombs_key(url)) .. '\n' ..
                            table.concat(redis.call('ZRANGE', sort, 0, -1, 'WITHSCORES'), '\n') .. '\n' ..
                            (redis.call('GET', items_key(url)) or ''))
local answer = {stamp}
if first == 0 then
  local due = due_of(url)
  answer[2] = due and text(due) or ''
  answer[3] = redis.call('ZSCORE', quarantine_key, url) or ''
  answer[4] = redis.call('HGETALL', state)
  answer[5] = redis.call('HGETALL', feed_key(url))
  answer[6] = redis.call('ZRANGE', tombs_key(url), 0, -1, 'WITHSCORES')
end
local ids = redis.call('ZRANGE', sort, first, first + count - 1, 'WITHSCORES')
for i = 1, #ids, 2 do answer[#answer + 1] = {ids[i], ids[i + 1], redis.call('HGETALL', ids[i])} end
return answer
