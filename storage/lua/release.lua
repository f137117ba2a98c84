#!lua flags=allow-oom
-- uses posts host
-- replies integer
-- Gives claims back (RELIABILITY L9). ARGV: prefix, due ms ('' = the due time of before), then feed_url, claim in turn.
-- Returns how many were still held.
local due, now = tonumber(ARGV[2]), clock()
local released = 0
for i = 3, #ARGV, 2 do
  local url, claim = ARGV[i], ARGV[i + 1]
  local mine = redis.call('HMGET', state_key(url), 'claim', 'claim_due', 'fetch_url', 'claim_hosts', 'wake', 'push_wake',
                          'push_claimed', 'not_before', 'state')
  if mine[1] == claim then
    local at = due and text(due) or mine[2]
    if mine[5] then at = text(math.min(tonumber(at), now + tonumber(mine[5]))) end
    if mine[6] then  -- a hint waits for the host, as all do
      local hinted = math.max(tonumber(string.match(mine[6], '^(%d+)')), tonumber(mine[8]) or 0, due or 0)
      at = text(math.min(tonumber(at), hinted))
    end
    redis.call('ZADD', schedule_key, 'XX', at, url)
    redis.call('HDEL', state_key(url), 'claim', 'claim_due', 'claim_part', 'claim_hosts', 'strikes', 'alone',
               'alone_deaths', 'wake', 'push_wake', 'push_claimed')
    if mine[7] then redis.call('HSET', state_key(url), 'push_hint', mine[7]) end  -- no fetch has answered it
    if mine[9] ~= 'paused' then
      redis.call('HSET', state_key(url), 'won', 'released', 'why', due_input('released', math.max(0, tonumber(at) - now)))
    end
    free_slots(claim, gate_of(mine[3] or url), mine[4])
    released = released + 1
  end
end
return released
