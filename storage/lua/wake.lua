#!lua
-- uses posts host requests
-- replies array
-- answers requests
-- Makes feeds due now (RELIABILITY L10, HTTP P22). A feed being refreshed records how long after the refresh it may be
-- due again; the commit obeys. A feed that waits for its host keeps its place, because a new one would be later; but
-- one request may skip a line that waits for a pace set by the server (HTTP H10). No floor applies to a feed that our
-- own policy refused before any server was contacted, unless by redirect.
-- ARGV: prefix, floor ms, force (1/0), then feed URLs. Returns {result, at} for each: due, noted, too_early, paused,
-- unknown.
local floor, force = tonumber(ARGV[2]), ARGV[3] == '1'
local now = clock()
local answers, sooner = {}, false

local function may_pass_line(gate_name)
  for name, quota in pairs(read_host(gate_name, now).quotas or {}) do
    if may_try({quota = quota}, now) then return true end
  end
  return false
end

for i = 4, #ARGV do
  local url = ARGV[i]
  local due, line = due_of(url)
  local mine = redis.call('HMGET', state_key(url), 'claim', 'last_at', 'not_before', 'state', 'fetch_url', 'wake', 'held',
                          'last', 'walk')
  local in_line = due and (line or (due > now and (tonumber(mine[7] or nil) or math.huge) <= now))
  local _, _, _, min_interval = gate_of(mine[5] or url)
  local allowed = math.max((tonumber(mine[2]) or 0) + math.max(floor, min_interval or 0), tonumber(mine[3]) or 0)
  if string.find(mine[8] or '', '^0 %a+ egress%.') then allowed = tonumber(mine[3]) or 0 end
  local killer = mine[4] == 'quarantined'  -- it has killed workers (SECURITY Q2)
  if killer then allowed = math.max(allowed, due or 0) end
  local told = tonumber(mine[3]) or 0  -- a Retry-After applies to every request (HTTP P22)
  local answer
  if not due then
    answer = {mine[4] == 'paused' and 'paused' or 'unknown', '0'}
  elseif mine[1] and due > now then
    local rest = math.min(force and 0 or math.max(floor, min_interval or 0), tonumber(mine[6]) or math.huge)
    redis.call('HSET', state_key(url), 'wake', text(rest))
    redis.call('HDEL', state_key(url), 'plain')
    answer = {'noted', text(now)}
  elseif told > now or (not force and (mine[2] or killer) and allowed > now) then
    answer = {'too_early', text(math.max(told, force and 0 or allowed))}
  elseif line and may_pass_line(line) then
    sooner = true
    schedule_at(url, now, line)
    redis.call('HSET', state_key(url), 'held', text(due), 'won', 'manual', 'why', due_input('manual', 0))
    redis.call('HDEL', state_key(url), 'plain')
    answer = {'due', text(now)}
  elseif in_line then
    answer = {'due', text(line and next_start_of(line, now) or due)}
  else
    -- Operators' requests do not wait for a backlog (HTTP P12), nor fetch a page of older posts instead (G1).
    local comes = due > now or mine[9] or (force and due < now - overdue_ms)
    if comes then
      sooner = true
      due = due_among(#ARGV - 3, url, now)
      redis.call('ZADD', schedule_key, 'XX', text(due), url)
      redis.call('HDEL', state_key(url), 'held')
    end
    if comes or force then redis.call('HSET', state_key(url), 'won', 'manual', 'why', due_input('manual', 0)) end
    answer = {'due', text(due)}
  end
  answers[#answers + 1] = answer
end
if sooner then wake_a_worker() end
return answers
