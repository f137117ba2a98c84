-- The short way of commit, before all else that commit needs: a poll that changed nothing but the feed's own state,
-- whose arguments end behind the state fields to set. Whatever is out of the ordinary goes the long way below. The
-- first write is also the check of its key, the others have been read.
-- ARGV: prefix, feed_url, claim, next due, marks of how the host answered (note_answer of host.lua), counted state
--       fields to set.
local url, claim = ARGV[2], ARGV[3]
local feed_state, last_field = state_key(url), 6 + 2 * tonumber(ARGV[6])
local short = #ARGV == last_field
local mine = redis.call('HMGET', feed_state, 'claim', 'claim_part', 'state', 'fetch_url', 'wake', 'claim_hosts', 'push_wake',
                        'alone', 'alone_deaths', 'held', 'push_due')
if mine[1] ~= claim then return {redis.call('HGET', feed_state, 'last_claim') == claim and 'dup' or 'stale'} end
if short and mine[3] ~= 'paused' and
   not (mine[2] or mine[5] or mine[6] or mine[7] or mine[8] or mine[9] or mine[10] or mine[11]) then
  local gate = host_key((gate_of(mine[4] or url)))
  if nothing_to_note(gate, ARGV[5]) and type(redis.pcall('ZADD', schedule_key, 'XX', ARGV[4], url)) == 'number' then
    redis.call('HSET', feed_state, 'last_claim', claim, unpack(ARGV, 7, last_field))
    redis.call('HDEL', feed_state, 'claim', 'claim_due', 'strikes', 'push_claimed')
    redis.call('HDEL', gate, 's:' .. claim)
    return {'ok'}
  end
end

