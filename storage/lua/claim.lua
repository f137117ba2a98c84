#!lua
-- uses posts host
-- replies array of 7
-- Hands out feeds (RELIABILITY L1–L3, HTTP §6, SECURITY Q1–Q3).
-- ARGV: prefix, worker, request, max, lease ms, host concurrency, host spacing ms (behind a space the name that the
--       worker goes out under), due_by ms or '', overdue feeds a second of all workers ('0' = any number), then URLs:
--       without due_by only these; with it these and what was due by then and has not been put off since.
-- Returns {now, next due or '', exhausted, claims as {url, claim, due, alone, served_at, identity, http1, storm},
--          deferred as {url, due, code}, refused URLs, quarantined as {url, due}}. Whoever claims reads the states.
local worker, request = ARGV[2], ARGV[3]
local max, lease = tonumber(ARGV[4]), tonumber(ARGV[5])
local usual_concurrency, usual_spacing, egress = tonumber(ARGV[6]), string.match(ARGV[7], '^(%d+) ?(.*)$')
local due_by = tonumber(ARGV[8])
local now = clock()
local lease_end = text(now + lease)
local worker_key = prefix .. 'state:worker:' .. worker

-- When to come again. `paced`: there are overdue feeds that nobody may take yet.
local function next_due(paced)
  local from = paced and '(' .. text(now) or '-inf'
  local first = tonumber(redis.call('ZRANGEBYSCORE', schedule_key, from, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2])
  if paced then return text(math.min(first or now + 100, now + 100)) end
  return first and text(first) or ''
end

-- What holds for a host (HTTP H7), and the gate that it may share with others. Gates are written at the end.
local hosts, gates, gates_read = {}, {}, {}
local function limits_of(host)
  if not hosts[host] then
    local name, concurrency, spacing, min_interval = gate_of_host(host)
    if not gates[name] then
      gates[name] = read_host(name, now, egress, spacing ~= nil)
      gates_read[#gates_read + 1] = gates[name]
    end
    hosts[host] = {gate = gates[name], concurrency = concurrency or usual_concurrency, spacing = spacing or tonumber(usual_spacing),
                   min_interval = min_interval or 0}
  end
  return hosts[host]
end

local function handed_out(url, claim, due, alone, gate)
  return {url, claim, due, alone and 1 or 0, text(gate.served_at), gate.identity_until > now and 1 or 0,
          gate.http1_until > now and 1 or 0, text(gate.storm or 0)}
end

local mine = redis.call('HMGET', worker_key, 'request', 'batch', 'alone_url', 'alone_claim')
if mine[1] == request then
  local claims = {}
  local batch, deferred, refused, quarantined = unpack(cmsgpack.unpack(mine[2]))
  for _, claim in ipairs(batch) do
    local is = redis.call('HMGET', state_key(claim[1]), 'fetch_url', 'alone')
    claims[#claims + 1] = handed_out(claim[1], claim[2], claim[3], is[2], limits_of(host_of(is[1] or claim[1])).gate)
  end
  return {text(now), next_due(), 0, claims, deferred, refused, quarantined}
end
-- This worker is busy with a feed that a worker has died of (SECURITY Q2).
local lonely = mine[3] and redis.pcall('HGET', state_key(mine[3]), 'claim') == mine[4] and
               (tonumber(redis.call('ZSCORE', schedule_key, mine[3]) or 0)) > now

-- HTTP N4: after the clock was put back, due times may lie where nobody will live to see them.
for _, url in ipairs(redis.call('ZRANGE', schedule_key, '+inf', '(' .. text(now + 30 * day_ms), 'BYSCORE', 'REV',
                                'LIMIT', 0, 100)) do
  redis.call('ZADD', schedule_key, 'XX', text(now + day_ms), url)
end

-- Feeds to look at, with their due times: {url, due, url, due, …}
local scan = due_by and 5000 or 500
local candidates = {}
if #ARGV > 9 then
  for i = 10, #ARGV do
    local due = redis.call('ZSCORE', schedule_key, ARGV[i])
    local owner = redis.pcall('HGET', state_key(ARGV[i]), 'claim')  -- a key that is no hash is dealt with below
    local taken = owner and not owner.err or due_by  -- of those named with due_by another worker may have been sooner
    if due and not (taken and tonumber(due) > now) then
      candidates[#candidates + 1] = ARGV[i]
      candidates[#candidates + 1] = due
    end
  end
end

local claims, deferred, refused, quarantined, batch = {}, {}, {}, {}, {}

local function put_off(url, at, code, from, ...)
  redis.call('ZADD', schedule_key, 'XX', text(at), url)
  redis.call('HSET', state_key(url), 'won', code, 'why', due_input(code, at - now, from), ...)
end

local function defer(url, due, held, at, code, from)
  put_off(url, at, code, from, 'held', text(held or due))  -- the due time that it had before
  deferred[#deferred + 1] = {url, text(at), code}
end

-- SECURITY Q2: what has killed three workers, each time alone, waits a day, twice as long each time, a week at most.
local function quarantine(url, state)
  local times = redis.call('HINCRBY', state_key(url), 'quarantines', 1)
  local at = now + day_ms * math.min(2 ^ (times - 1), 7)
  if state ~= 'quarantined' then
    count_state(url, state or 'new', 'quarantined', now)
    redis.call('HSET', state_key(url), 'state', 'quarantined', 'quarantined_at', text(now))
    redis.call('ZADD', quarantine_key, text(now), url)
  end
  redis.call('HDEL', state_key(url), 'strikes', 'alone_deaths', 'held', 'wake')
  put_off(url, at, 'quarantine', 'killed the worker')
  quarantined[#quarantined + 1] = {url, text(at)}
end

-- When a feed may knock again at a gate that lets nobody in now: one after the other behind it, as far apart as the gate
-- lets them in (HTTP H1).
local function place_at(gate, spacing, held)
  local first, ways = opens_first(gate, spacing, now)
  local gap = gap_of(gate, spacing) / ways
  local at = gate.quota and math.max(first, now + math.min(gap, ways > 1 and 200 or 1000)) or now + gap
  if now < gate.not_before then
    gate.tail = math.max(gate.tail, gate.not_before - gap) + gap
    at = gate.tail
  elseif not held then
    gate.tail = math.max(gate.tail, now, gate.quota and first - gap or 0) + gap
    at = gate.tail
  end
  gate.reserved = true
  return math.max(at, gate.not_before, now + 100)
end

-- The claim, in the store and for the worker. `suspect`: nothing else of this worker runs beside it (SECURITY Q2).
local function hand_out(url, due, is, strikes, suspect, gate)
  local claim = worker .. ':' .. request .. '-' .. (#claims + 1)
  local was_due, times = text(tonumber(is.held) or due), text(strikes + 1)
  redis.call('ZADD', schedule_key, 'XX', lease_end, url)
  redis.call('HSET', state_key(url), 'claim', claim, 'claim_due', was_due, 'strikes', times)
  if is.push_hint and not is.push_claimed then redis.call('HSET', state_key(url), 'push_claimed', is.push_hint) end
  if is.held or is.claim_part or is.claim_hosts or is.wake or is.push_hint or is.push_nets then
    redis.call('HDEL', state_key(url), 'held', 'claim_part', 'claim_hosts', 'wake', 'push_hint', 'push_nets')
  end
  if suspect then
    lonely = true
    redis.call('HSET', state_key(url), 'alone', '1')
    redis.call('HSET', worker_key, 'alone_url', url, 'alone_claim', claim)
  end
  take_slot(gate, claim, now, now + lease)
  claims[#claims + 1] = handed_out(url, claim, was_due, suspect, gate)
  batch[#batch + 1] = {url, claim, was_due}
end

-- The schedule is read page by page: whoever was looked at stands further back in it by then, but for those that stay.
local looked_at, in_line, stay, named = 0, 0, 0, #candidates / 2
local read_all = #ARGV > 9 and not due_by
local from = '-inf'
local function next_page()
  local size = math.min(scan - (looked_at - named), max - #claims + 16)
  if read_all or size <= 0 then return false end
  candidates = redis.call('ZRANGEBYSCORE', schedule_key, from, text(math.min(now, due_by or now)), 'WITHSCORES',
                          'LIMIT', stay, size)
  read_all = #candidates < 2 * size
  return #candidates > 0
end

-- HTTP P12: all workers share one budget for feeds that are overdue, a quarter of a second of it in advance. What is on
-- time waits for none of them. A wish of an operator is not counted.
local overdue_at, rate = now - 2000, tonumber(ARGV[9])
local spent_until = rate > 0 and tonumber(redis.call('HGET', meta_key, 'overdue_until')) or 0
if rate > 0 then
  if spent_until > now then spent_until = now - 1000 / rate end  -- the clock was put back
  spent_until = math.max(spent_until, now - 250 - 1000 / rate)
end
local spent, left_behind = false, false
local function may_take_overdue() return rate == 0 or spent_until + 1000 / rate <= now end
local function leave_overdue()
  left_behind, read_all, from, stay = true, false, text(overdue_at), 0
end
local function is_paced(was_due, won) return rate > 0 and was_due < overdue_at and won ~= 'manual' end

-- What a claim goes by, of a feed's state.
local looked_for = {'alone', 'alone_deaths', 'claim', 'claim_hosts', 'claim_part', 'fetch_url', 'held', 'last_at',
                    'push_claimed', 'push_hint', 'push_nets', 'state', 'strikes', 'wake', 'won'}
if not may_take_overdue() then leave_overdue() end
local i = -1
while #claims < max do
  i = i + 2
  if i > #candidates then
    if not next_page() then break end
    i = 1
  end
  looked_at = looked_at + 1
  local url, due = candidates[i], tonumber(candidates[i + 1])
  local fields, is = redis.pcall('HMGET', state_key(url), unpack(looked_for)), {}
  for k, value in ipairs(fields) do is[looked_for[k]] = value or nil end
  local held, state, deaths = tonumber(is.held), is.state, tonumber(is.alone_deaths) or 0
  if fields.err then  -- no hash: one feed's broken key must not stop the others
    redis.call('ZADD', schedule_key, 'XX', text(now + day_ms), url)
    refused[#refused + 1] = url
  elseif not due_by or (held or due) <= due_by then
    -- A claim of this very worker that has ended did not end with its death: the store was away (SECURITY Q1).
    local own = is.claim and string.sub(is.claim, 1, #worker + 1) == worker .. ':'
    local strikes = math.max(0, (tonumber(is.strikes) or 0) - (own and 1 or 0))
    if own then redis.call('HDEL', state_key(url), 'alone') end
    if is.claim and is.alone and not own then  -- the attempt was made alone, and nobody lived to tell of it
      deaths = redis.call('HINCRBY', state_key(url), 'alone_deaths', 1)
      redis.call('HDEL', state_key(url), 'claim', 'alone')
    end
    local suspect = strikes > 0 or state == 'quarantined'
    local host = host_of(is.fetch_url or url)
    local limits = limits_of(host)
    local gate = limits.gate
    local rested = limits.min_interval == 0 and 0 or (tonumber(is.last_at) or 0) + limits.min_interval
    local code = why_not(gate, now, limits.concurrency, limits.spacing)
    if deaths >= 3 or (deaths > 0 and state == 'quarantined') then
      quarantine(url, state)
    elseif rested > now and not held and is.won ~= 'manual' then  -- not due at all: not waited for as one that is put off
      put_off(url, rested, 'override', host)
      redis.call('HDEL', state_key(url), 'held')
    elseif suspect and lonely then
      in_line = in_line + 1
      defer(url, due, held, now + 20 * math.min(in_line, 500), 'quarantine', 'one at a time')
    elseif code then
      defer(url, due, held, place_at(gate, limits.spacing, held), code, host)
    elseif is_paced(held or due, is.won) and not may_take_overdue() then
      if left_behind then
        stay = stay + 1
      else
        leave_overdue()
        candidates, i = {}, -1
      end
    else
      if is_paced(held or due, is.won) then spent_until, spent = spent_until + 1000 / rate, true end
      hand_out(url, due, is, strikes, suspect, gate)
    end
  elseif looked_at > named then
    stay = stay + 1
  end
end
for _, gate in ipairs(gates_read) do write_slots(gate, now) end
-- What was put off is only waited for by a worker that was told a due_by.
if #batch + #refused + #quarantined > 0 or (due_by and #deferred > 0) then
  redis.call('HSET', worker_key, 'request', request, 'batch',
             cmsgpack.pack({batch, due_by and deferred or {}, refused, quarantined}))
  redis.call('PEXPIRE', worker_key, text(lease))
end
if spent then redis.call('HSET', meta_key, 'overdue_until', string.format('%.3f', spent_until)) end
local exhausted = read_all and i + 1 >= #candidates
return {text(now), next_due(left_behind), exhausted and 1 or 0, claims, deferred, refused, quarantined}
