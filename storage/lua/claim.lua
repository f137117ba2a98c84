#!lua
-- uses plain posts slots host
-- replies array of 9
-- Hands out feeds (RELIABILITY L1–L3, HTTP §6, SECURITY Q1–Q3).
-- ARGV: prefix, worker, request, max, lease ms, host concurrency, host spacing ms (then, after a space, the worker's
-- egress name), due_by ms, 'due' or '', overdue feeds per second of all workers ('0' = unlimited), then URLs. Without
-- due_by, only these feeds are claimed; with 'due', only if they are due. With due_by, these and all feeds that were
-- due by then and have not been deferred since.
-- Returns {now, next due or '', exhausted, claims as url, claim, due, served_at, url, …, the unusual of them as {number,
-- alone, identity, http1, storm}, deferred as {url, due, code}, refused URLs, quarantined as {url, due}, with a due_by:
-- the next possible start of a feed that was due by then and waits for its host, '' = none within a lease}. The caller
-- reads the states.
-- A feed with a closed gate moves from the schedule to the gate's line, line:<gate>, soonest due first; `lines` has the
-- time when the first feed of each line may start. So the cost of a claim depends on the number of feeds handed out,
-- not on the number waiting (HTTP H1).
local worker, request = ARGV[2], ARGV[3]
local max, lease = tonumber(ARGV[4]), tonumber(ARGV[5])
local usual_concurrency, usual_spacing, egress = tonumber(ARGV[6]), string.match(ARGV[7], '^(%d+) ?(.*)$')
usual_spacing = tonumber(usual_spacing)
local due_by = tonumber(ARGV[8])
local now = clock()
local lease_end = now + lease
local lease_end_text = text(lease_end)
local my_key = worker_key(worker)
-- Loops of one process share the first 28 digits; the last four are the loop number.
local process = string.sub(worker, 1, 28)
local process_key = worker_key(process .. '0000')

-- When to claim again. `paced`: there are overdue feeds that no worker may take yet.
local function next_due(paced)
  local from = paced and '(' .. text(now) or '-inf'
  local at = math.huge
  for _, key in ipairs({schedule_key, lines_key}) do
    local first = redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    at = math.min(at, tonumber(first) or at)
  end
  if paced then at = math.min(at, now + 100) end
  return at < math.huge and text(at) or ''
end

-- The limits for a server (HTTP H7) and its gate, which it may share with others. Gates are written at the end.
local servers, gates, gates_read = {}, {}, {}
local function limits_of(server)
  if not servers[server] then
    local name, concurrency, spacing, min_interval = gate_of_server(server)
    if not gates[name] then
      gates[name] = read_host(name, now, egress, spacing ~= nil)
      gates_read[#gates_read + 1] = gates[name]
    end
    servers[server] = {gate = gates[name], concurrency = concurrency or usual_concurrency, spacing = spacing or usual_spacing,
                       min_interval = min_interval or 0}
  end
  return servers[server]
end

-- The next possible start of a feed that was due by due_by and waits for its host. Skips lines without such feeds, up
-- to a limit: other workers serve them. For a host with a quota (HTTP H10) it waits at most one lease in all, because a
-- quota could take hours.
local function is_awaited(line)
  return now <= due_by + lease or not (gates[line] or read_host(line, now)).quotas
end
local function next_awaited()
  if not due_by then return '' end
  local lines = redis.call('ZRANGEBYSCORE', lines_key, '-inf', text(lease_end), 'WITHSCORES', 'LIMIT', 0, 1000)
  for i = 1, #lines, 2 do
    local first = redis.call('ZRANGE', line_key(lines[i]), 0, 0, 'WITHSCORES')
    if first[2] and tonumber(first[2]) <= due_by and is_awaited(lines[i]) then
      return text(math.max(now, tonumber(lines[i + 1])))
    end
  end
  return ''
end

local mine = redis.call('HMGET', my_key, 'request', 'batch', 'alone_url', 'alone_claim')
if mine[1] == request then
  local claims, unusual, deferred, refused, quarantined, handed_out_at = unpack(cmsgpack.unpack(mine[2]))
  -- The store was unavailable in between, and other workers may have passed the gates.
  if usual_spacing > 0 and now - handed_out_at > 100 then
    for i = 1, #claims, 4 do give_back(claims[i], claims[i + 1], nil, now) end
    claims, unusual = {}, {}
  end
  return {text(now), next_due(), 0, claims, unusual, deferred, refused, quarantined, next_awaited()}
end
-- Whether this process is refreshing a feed that has killed a worker (SECURITY Q2).
local alone = process_key == my_key and {mine[3], mine[4]} or
              redis.call('HMGET', process_key, 'alone_url', 'alone_claim')
local lonely = alone[1] and redis.pcall('HGET', state_key(alone[1]), 'claim') == alone[2] and
               (tonumber(redis.call('ZSCORE', schedule_key, alone[1]) or 0)) > now

-- HTTP N2: after the clock was set back, due times may be in the far future.
for _, url in ipairs(redis.call('ZRANGE', schedule_key, '+inf', '(' .. text(now + 30 * day_ms), 'BYSCORE', 'REV',
                                'LIMIT', 0, 100)) do
  redis.call('ZADD', schedule_key, 'XX', text(now + day_ms), url)
end

local claims, handed_out, unusual, deferred, refused, quarantined = {}, 0, {}, {}, {}, {}

local function put_off(url, line, at, code, from, ...)
  schedule_at(url, at, line)
  redis.call('HSET', state_key(url), 'won', code, 'why', due_input(code, at - now, from), ...)
end

-- SECURITY Q2: a feed that has killed three workers, each time alone, waits a day; each time twice as long, at most a
-- week.
local function quarantine(url, line, state)
  local times = redis.call('HINCRBY', state_key(url), 'quarantines', 1)
  local at = now + day_ms * math.min(2 ^ (times - 1), 7)
  if state ~= 'quarantined' then
    count_state(url, state or 'new', 'quarantined', now)
    redis.call('HSET', state_key(url), 'state', 'quarantined', 'quarantined_at', text(now))
    redis.call('ZADD', quarantine_key, text(now), url)
  end
  redis.call('HDEL', state_key(url), 'strikes', 'alone_deaths', 'held', 'wake')
  put_off(url, line, at, 'quarantine', 'killed the worker')
  quarantined[#quarantined + 1] = {url, text(at)}
end

-- Writes when the first feed in a gate's line may start; removes an empty line.
local function settle_line(gate, limits)
  local length = redis.pcall('ZCARD', line_key(gate.name))
  if length == 0 or type(length) ~= 'number' then
    redis.call('ZREM', lines_key, gate.name)
    if gate.waiting then redis.call('HDEL', gate.key, 'waiting') end
    gate.waiting = nil
    return
  end
  local shut = why_not(gate, now, limits.concurrency, limits.spacing, 'line')
  redis.call('ZADD', lines_key, text(shut and next_start(gate, now, limits.concurrency, limits.spacing) or now), gate.name)
  if not gate.waiting then
    redis.call('HSET', gate.key, 'waiting', '1')
    gate.waiting = 1
    keep_host(gate, now)
  end
end

-- Lease ends of feeds that were claimed out of the schedule: written together, before the schedule is read again.
local leased = {}
local function write_leases()
  if #leased > 0 then redis.call('ZADD', schedule_key, 'XX', unpack(leased)) end
  leased = {}
end

-- Moves a feed from the schedule to the line of its gate. `at`: its earliest known start.
local function join_line(url, since, code, server, limits, at)
  local gate = limits.gate
  if type(redis.pcall('ZADD', line_key(gate.name), text(since), url)) ~= 'number' then  -- not a sorted set: nothing is
                                                                                        -- in it
    redis.call('UNLINK', line_key(gate.name))
    redis.call('ZADD', line_key(gate.name), text(since), url)
  end
  redis.call('ZREM', schedule_key, url)
  gate.joined = limits
  redis.call('HSET', state_key(url), 'line', gate.name, 'won', code, 'why', due_input(code, math.max(0, at - now), server))
  redis.call('HDEL', state_key(url), 'held', 'plain')
  deferred[#deferred + 1] = {url, text(math.max(at, now + 100)), code}
end

-- Hands out a claim: writes it to the store and adds it to the reply. `suspect`: no other suspect of this process runs
-- at the same time (SECURITY Q2).
local function hand_out(url, line, due, is, strikes, suspect, limits, asker)
  handed_out = handed_out + 1
  local gate, claim = limits.gate, worker .. ':' .. request .. '-' .. handed_out
  local was_due, times = text(tonumber(is.held) or due), strikes == 0 and '1' or text(strikes + 1)
  if line or is.line then
    schedule_at(url, lease_end, line or is.line)
  else
    leased[#leased + 1], leased[#leased + 2] = lease_end_text, url
    if #leased >= 1000 then write_leases() end
  end
  redis.call('HSET', state_key(url), 'claim', claim, 'claim_due', was_due, 'strikes', times)
  if is.push_hint and not is.push_claimed then redis.call('HSET', state_key(url), 'push_claimed', is.push_hint) end
  if is.held or is.claim_part or is.claim_hosts or is.wake or is.push_hint or is.push_nets then
    redis.call('HDEL', state_key(url), 'held', 'claim_part', 'claim_hosts', 'wake', 'push_hint', 'push_nets')
  end
  if suspect then
    lonely = true
    redis.call('HSET', state_key(url), 'alone', '1')
    redis.call('HSET', process_key, 'alone_url', url, 'alone_claim', claim)
    redis.call('PEXPIRE', process_key, text(lease))
  end
  take_slot(gate, claim, now, lease_end, asker, gap_of(gate, limits.spacing))
  local i = 4 * handed_out
  claims[i - 3], claims[i - 2], claims[i - 1], claims[i] = url, claim, was_due, text(gate.served_at)
  if suspect or gate.identity_until > now or gate.http1_until > now or gate.storm then
    unusual[#unusual + 1] = {handed_out, suspect and 1 or 0, gate.identity_until > now and 1 or 0,
                             gate.http1_until > now and 1 or 0, text(gate.storm or 0)}
  end
end

-- HTTP P12: all workers share one budget for overdue feeds, with bursts of up to a quarter of a second. Feeds that are
-- on time bypass it. Operators' requests are not counted.
local rate = tonumber(ARGV[9])
local spent_until = rate > 0 and tonumber(redis.call('HGET', meta_key, 'overdue_until')) or 0
if rate > 0 then
  if spent_until > now then spent_until = now - 1000 / rate end  -- the clock was set back
  spent_until = math.max(spent_until, now - 250 - 1000 / rate)
end
local spent, left_behind = false, false
local function may_take_overdue() return rate == 0 or spent_until + 1000 / rate <= now end

-- Whether a live worker serves the lines: named feeds then take turns with them.
local served
local function lines_are_served()
  if served == nil then served = redis.call('ZCOUNT', workers_key, text(now), '+inf') > 0 end
  return served
end

-- Examines a feed of the schedule, or the first in a gate's line. `named`: an operator waits for it. Returns nil if it
-- was moved, else why it stays: 'late' = due after due_by, 'paced' = over the budget for overdue feeds, 'shut' = its
-- gate is closed.
local in_turn = 0
local function look_at(url, due, line, named)
  local is = read_feed(url, 'won')
  if not is then  -- not a hash: one feed's broken key must not stop the others
    if line then redis.call('ZREM', line_key(line), url) end
    redis.call('ZADD', schedule_key, text(now + day_ms), url)
    refused[#refused + 1] = url
    return
  end
  if line or is.claim or not is.plain then
    read_others(url, is)
    if is.plain then redis.call('HDEL', state_key(url), 'plain') end  -- what follows may write any of them
  end
  -- A build without lines has removed it from the line, or it now belongs to another gate.
  if line and (is.line ~= line or is.state == 'paused' or redis.call('ZSCORE', schedule_key, url)) then
    redis.call('ZREM', line_key(line), url)
    if is.line == line then redis.call('HDEL', state_key(url), 'line') end
    return
  end
  local held, state, deaths = tonumber(is.held), is.state, tonumber(is.alone_deaths) or 0
  if due_by and (held or due) > due_by then return 'late' end
  -- A claim of this process did not end because the process died: the store was unavailable (SECURITY Q1).
  local own = is.claim and string.sub(is.claim, 1, #process) == process
  local strikes = math.max(0, (tonumber(is.strikes) or 0) - (own and 1 or 0))
  if own then redis.call('HDEL', state_key(url), 'alone') end
  if is.claim and is.alone == '1' and not own then  -- the attempt was made alone and never reported
    deaths = redis.call('HINCRBY', state_key(url), 'alone_deaths', 1)
    redis.call('HDEL', state_key(url), 'claim', 'alone')
  end
  local suspect = strikes > 0 or state == 'quarantined'
  local server = server_of(is.fetch_url or url)
  local limits = limits_of(server)
  local gate = limits.gate
  local stands_first = line == gate.name
  local rested = limits.min_interval
  if rested > 0 then rested = (tonumber(redis.call('HGET', state_key(url), 'last_at') or nil) or 0) + rested end
  local asker = named and worker or 'line'
  if named and tostring(gate.kept_for) == 'line' and not lines_are_served() then asker = 'line' end
  local wished = named or is.won == 'manual'
  local code = why_not(gate, now, limits.concurrency, limits.spacing, asker, wished)
  local passes = named or wished and may_try(gate, now)
  if not code and gate.waiting and not stands_first and not passes then code = 'host_spacing' end
  local is_paced = rate > 0 and (held or due) < now - overdue_ms and is.won ~= 'manual'
  if deaths >= 3 or (deaths > 0 and state == 'quarantined') then
    quarantine(url, line, state)
  elseif rested > now and not held and is.won ~= 'manual' then  -- not due at all, so not reported as deferred
    put_off(url, line, rested, 'override', host_of_gate(server))
    redis.call('HDEL', state_key(url), 'held')
  elseif suspect and lonely then
    in_turn = in_turn + 1
    local at = now + 20 * math.min(in_turn, 500)
    put_off(url, line, at, 'quarantine', 'one at a time', 'held', text(held or due))  -- its original due time
    deferred[#deferred + 1] = {url, text(at), 'quarantine'}
  elseif code and stands_first and not named then
    return 'shut', limits
  elseif code then
    local at = next_start(gate, now, limits.concurrency, limits.spacing, asker)
    if named then keep_start(gate, worker, now, at) end
    if line and not stands_first then redis.call('ZREM', line_key(line), url) end
    join_line(url, held or due, code, server, limits, at)
  elseif is_paced and not may_take_overdue() then
    return 'paced'
  else
    if is_paced then spent_until, spent = spent_until + 1000 / rate, true end
    hand_out(url, line, due, is, strikes, suspect, limits, asker)
  end
end

-- Starts the first feed of a gate's line, and as many after it as the gate allows at once. Returns why it stops before
-- the line is empty, as in look_at().
local looked_at, scan = 0, due_by and 5000 or 500
local function serve_line(line)
  while handed_out < max and looked_at < scan do
    local first = redis.pcall('ZRANGE', line_key(line), 0, 0, 'WITHSCORES')
    if not first[2] then
      settle_line(gates[line] or read_host(line, now))
      return
    end
    looked_at = looked_at + 1
    local stays, limits = look_at(first[1], tonumber(first[2]), line)
    if stays == 'shut' then settle_line(limits.gate, limits) end
    if stays then return stays end
  end
end

-- Takes the earlier of the next line that may start and the schedule. The schedule is read page by page: examined feeds
-- have been moved by then, except for those that stay.
local lines_left = 0
local function next_line()
  if not lines_left or looked_at >= scan then return end
  local first = redis.call('ZRANGEBYSCORE', lines_key, '-inf', text(now), 'WITHSCORES', 'LIMIT', lines_left, 1)
  return first[1], tonumber(first[2])
end

-- Named feeds first, with their due times: {url, due, url, due, …}
local candidates, named = {}, 0
for i = 10, #ARGV do
  local due, line = due_of(ARGV[i])
  local mine = redis.pcall('HMGET', state_key(ARGV[i]), 'claim', 'held')  -- a key of the wrong type is handled below
  -- With due_by, or 'due', another worker may have taken a named feed already.
  local taken = not mine.err and mine[1] or due_by or
                (ARGV[8] == 'due' and (mine.err or (tonumber(mine[2] or nil) or math.huge) > now))
  if due and not (taken and due > now) then
    candidates[#candidates + 1] = {ARGV[i], due, line}
    named = #candidates
  end
end

local stay, from, read_all = 0, '-inf', #ARGV > 9 and not due_by
if read_all then lines_left = nil end
local function next_page()
  local size = math.min(scan - looked_at, math.max(max - handed_out + 1, 16))
  candidates = {}
  write_leases()
  if read_all or size <= 0 then return false end
  local page = redis.call('ZRANGEBYSCORE', schedule_key, from, text(math.min(now, due_by or now)), 'WITHSCORES',
                          'LIMIT', stay, size)
  read_all = #page < 2 * size
  for k = 1, #page, 2 do candidates[#candidates + 1] = {page[k], tonumber(page[k + 1])} end
  return #candidates > 0
end
-- Continue with only the feeds on time.
local function leave_overdue()
  left_behind, read_all, from, stay, candidates, lines_left = true, false, text(now - overdue_ms), 0, {}, nil
end

if not may_take_overdue() then leave_overdue() end
local i = 0
local line, may_start = next_line()
while handed_out < max do
  if i >= #candidates and next_page() then i, named = 0, 0 end
  local next_one = candidates[i + 1]
  if line and not (next_one and (i < named or next_one[2] < may_start)) then
    local stays = serve_line(line)
    if stays == 'late' then lines_left = lines_left + 1 end
    if stays == 'paced' then leave_overdue() i = 0 end
    line, may_start = next_line()
  elseif next_one then
    i = i + 1
    local is_named = i <= named
    if not is_named then looked_at = looked_at + 1 end
    local stays = look_at(next_one[1], next_one[2], next_one[3], is_named and not due_by)
    if stays == 'paced' and not left_behind then
      leave_overdue()
      i, line = 0, nil
    elseif stays and not is_named then
      stay = stay + 1
    end
  else
    break
  end
end
write_leases()
for _, gate in ipairs(gates_read) do
  write_slots(gate, now)
  if gate.joined then settle_line(gate, gate.joined) end
end
-- Only workers with a due_by wait for deferred feeds.
if #claims + #refused + #quarantined > 0 or (due_by and #deferred > 0) then
  redis.call('HSET', my_key, 'request', request, 'batch',
             cmsgpack.pack({claims, unusual, due_by and deferred or {}, refused, quarantined, now}))
  redis.call('PEXPIRE', my_key, text(lease))
end
if spent then redis.call('HSET', meta_key, 'overdue_until', string.format('%.3f', spent_until)) end
local exhausted = read_all and i >= #candidates and not line and looked_at < scan
return {text(now), next_due(left_behind), exhausted and 1 or 0, claims, unusual, deferred, refused, quarantined,
        next_awaited()}
