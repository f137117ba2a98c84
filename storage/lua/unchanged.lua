#!lua
-- uses plain
-- replies array
-- The fast path of commit, for many feeds at once: polls that changed only the feed's own state. Other cases take the
-- slow path, commit.lua.
-- ARGV: prefix, then for each feed: feed_url, claim, next due, marks of how the host answered (note_answer of
-- answers.lua), counted state fields to set, counted ones to remove.
-- Returns for each 'ok', 'dup', 'stale', or 'long': nothing was written.
local now  -- set on demand
local due = {}  -- {due, url, due, url, …}
local is_schedule_fit = type(redis.pcall('ZCARD', schedule_key)) == 'number'

-- The first write also checks its key's type; the other keys have been read.
local function commit(url, claim, next_due, marks, set, set_last, unset, unset_last)
  local is = read_feed(url)
  if not is or not is_schedule_fit then return 'long' end
  local feed_state = state_key(url)
  if is.claim ~= claim then return redis.call('HGET', feed_state, 'last_claim') == claim and 'dup' or 'stale' end
  if not is.plain then read_others(url, is) end
  if not is.plain and (is.state == 'paused' or is.claim_part or is.wake or is.claim_hosts or is.push_wake or is.alone or
                       is.alone_deaths or is.held or is.push_due) then
    return 'long'
  end
  local gate_name = gate_of(is.fetch_url or url)
  if marks ~= '' then now = now or clock() end
  local nothing, waiting = nothing_to_note(host_key(gate_name), marks, now)
  if not nothing then return 'long' end
  due[#due + 1], due[#due + 2] = next_due, url
  redis.call('HSET', feed_state, 'last_claim', claim, unpack(ARGV, set, set_last))
  redis.call('HDEL', feed_state, 'claim', 'claim_due', 'strikes', unpack(ARGV, unset, unset_last))
  if not is.plain then
    if is.push_claimed then redis.call('HDEL', feed_state, 'push_claimed') end
    if becomes_plain(is) then redis.call('HSET', feed_state, 'plain', '1') end
  end
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
  if #due >= 1000 or at > #ARGV and #due > 0 then
    redis.call('ZADD', schedule_key, 'XX', unpack(due))
    due = {}
  end
end
return answers
