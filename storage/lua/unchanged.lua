#!lua
-- uses nothing
-- replies array
-- The fast path of commit, for many feeds at once: polls that changed only the feed's own state. Other cases take the
-- slow path, commit.lua.
-- ARGV: prefix, then for each feed: feed_url, claim, next due, marks of how the host answered (note_answer of
-- host.lua), counted state fields to set, counted ones to remove.
-- Returns for each 'ok', 'dup', 'stale', or 'long': nothing was written.
local now  -- set on demand

-- The first write also checks its key's type; the other keys have been read.
local function commit(url, claim, next_due, marks, set, set_last, unset, unset_last)
  local feed_state = state_key(url)
  local mine = redis.pcall('HMGET', feed_state, 'claim', 'claim_part', 'state', 'fetch_url', 'wake', 'claim_hosts',
                           'push_wake', 'alone', 'alone_deaths', 'held', 'push_due')
  if mine.err then return 'long' end
  if mine[1] ~= claim then return redis.call('HGET', feed_state, 'last_claim') == claim and 'dup' or 'stale' end
  if mine[3] == 'paused' or mine[2] or mine[5] or mine[6] or mine[7] or mine[8] or mine[9] or mine[10] or mine[11] then
    return 'long'
  end
  local gate_name = gate_of(mine[4] or url)
  local gate = host_key(gate_name)
  if marks ~= '' then now = now or clock() end
  local nothing, waiting = nothing_to_note(gate, marks, now)
  if not nothing or type(redis.pcall('ZADD', schedule_key, 'XX', next_due, url)) ~= 'number' then return 'long' end
  redis.call('HSET', feed_state, 'last_claim', claim, unpack(ARGV, set, set_last))
  redis.call('HDEL', feed_state, 'claim', 'claim_due', 'strikes', 'push_claimed', unpack(ARGV, unset, unset_last))
  redis.call('HDEL', host_key(host_of_gate(gate_name)), 's:' .. claim)
  if waiting then redis.pcall('ZADD', lines_key, 'XX', 'LT', '0', gate_name) end
  return 'ok'
end

local answers, at = {}, 2
while at <= #ARGV do
  local set_last = at + 4 + 2 * tonumber(ARGV[at + 4])
  local last = set_last + 1 + tonumber(ARGV[set_last + 1])
  answers[#answers + 1] = commit(ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], at + 5, set_last, set_last + 2, last)
  at = last + 1
end
return answers
