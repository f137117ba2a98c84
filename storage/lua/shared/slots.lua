-- The slots that a claim holds at hosts, and claims that end without a commit.

-- Allows the first feed in a gate's line to start, once a request there has ended. Returns whether feeds wait.
local function tell_line(gate)
  local waits = redis.pcall('HGET', host_key(gate), 'waiting') == '1'
  if waits then redis.pcall('ZADD', lines_key, 'XX', 'LT', '0', gate) end
  return waits
end

-- Releases a claim's slots: at the first gate, and at those of the hosts it was redirected to. Returns whether feeds
-- wait there.
local function free_slots(claim, first_gate, more_hosts)
  local waits = false
  local function free(gate)
    if redis.pcall('HDEL', host_key(host_of_gate(gate)), 's:' .. claim) == 1 then waits = tell_line(gate) or waits end
  end
  free(first_gate)
  for server in string.gmatch(more_hosts or '', '%S+') do free((gate_of_server(server))) end
  return waits
end

-- Ends a claim without an attempt; `due` nil = its previous due time (RELIABILITY L9). Returns whether it was held.
local function give_back(url, claim, due, now)
  local mine = redis.call('HMGET', state_key(url), 'claim', 'claim_due', 'fetch_url', 'claim_hosts', 'wake', 'push_wake',
                          'push_claimed', 'not_before', 'state')
  if mine[1] ~= claim then return false end
  local at = due and text(due) or mine[2]
  if mine[5] then at = text(math.min(tonumber(at), now + tonumber(mine[5]))) end
  if mine[6] then  -- a hint also waits for the host
    local hinted = math.max(tonumber(string.match(mine[6], '^(%d+)')), tonumber(mine[8]) or 0, due or 0)
    at = text(math.min(tonumber(at), hinted))
  end
  redis.call('ZADD', schedule_key, 'XX', at, url)
  redis.call('HDEL', state_key(url), 'claim', 'claim_due', 'claim_part', 'claim_hosts', 'strikes', 'alone',
             'alone_deaths', 'wake', 'push_wake', 'push_claimed')
  if mine[7] then redis.call('HSET', state_key(url), 'push_hint', mine[7]) end  -- not answered by a fetch
  if mine[9] ~= 'paused' then
    redis.call('HSET', state_key(url), 'won', 'released', 'why', due_input('released', math.max(0, tonumber(at) - now)))
  end
  free_slots(claim, gate_of(mine[3] or url), mine[4])
  return true
end
