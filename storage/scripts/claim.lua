#!lua
-- Hands out feeds (RELIABILITY L1–L3, HTTP H1, H2, H7).
-- ARGV: prefix, worker, request, max, lease ms, host concurrency, host spacing ms, due_by ms or '', then URLs: only these.
-- Returns {now, next due or '', exhausted, claims as {url, claim, due, {state…}}, deferred as {url, due}, refused URLs}.
local worker, request = ARGV[2], ARGV[3]
local max, lease = tonumber(ARGV[4]), tonumber(ARGV[5])
local usual_concurrency, usual_spacing = tonumber(ARGV[6]), tonumber(ARGV[7])
local due_by = tonumber(ARGV[8])
local now = clock()
local worker_key = prefix .. 'state:worker:' .. worker

local function next_due()
  local first = redis.call('ZRANGE', schedule_key, 0, 0, 'WITHSCORES')
  return first[2] and text(tonumber(first[2])) or ''
end

local repeated = redis.call('HMGET', worker_key, 'request', 'batch')
if repeated[1] == request then
  local claims = {}
  for _, claim in ipairs(cmsgpack.unpack(repeated[2])) do
    local state = redis.call('HGETALL', state_key(claim[1]))
    claims[#claims + 1] = {claim[1], claim[2], claim[3], state}
  end
  return {text(now), next_due(), 0, claims, {}, {}}
end

-- Feeds to look at, with their due times: {url, due, url, due, …}
local scan = due_by and 5000 or 500
local candidates = {}
if #ARGV > 8 then
  for i = 9, #ARGV do
    local due = redis.call('ZSCORE', schedule_key, ARGV[i])
    local owner = redis.pcall('HGET', state_key(ARGV[i]), 'claim')  -- a key that is no hash is dealt with below
    if due and not (owner and not owner.err and tonumber(due) > now) then
      candidates[#candidates + 1] = ARGV[i]
      candidates[#candidates + 1] = due
    end
  end
else
  candidates = redis.call('ZRANGEBYSCORE', schedule_key, '-inf', text(now), 'WITHSCORES', 'LIMIT', 0, scan)
end

local function read_host(host)
  local gate = {last_start = 0, tail = 0, not_before = 0, in_flight = 0}
  local fields = redis.pcall('HGETALL', host_key(host))
  if fields.err then  -- no hash: it is of the moment only, and must not stop the claims
    redis.call('DEL', host_key(host))
    fields = {}
  end
  for i = 1, #fields, 2 do
    local name, value = fields[i], tonumber(fields[i + 1])
    if string.sub(name, 1, 2) == 's:' then  -- a slot: claim id → end of its lease
      if value > now then gate.in_flight = gate.in_flight + 1 else redis.call('HDEL', host_key(host), name) end
    else
      gate[name] = value
    end
  end
  return gate
end

local claims, deferred, refused, batch, hosts, gates = {}, {}, {}, {}, {}, {}
local looked_at = 0
for i = 1, #candidates, 2 do
  if #claims >= max then break end
  looked_at = looked_at + 1
  local url, due = candidates[i], tonumber(candidates[i + 1])
  local mine = redis.pcall('HMGET', state_key(url), 'fetch_url', 'held', 'last_at', 'won')
  local held = tonumber(mine[2])
  if mine.err then  -- no hash: one feed's broken key must not stop the others
    redis.call('ZADD', schedule_key, 'XX', text(now + 24 * 3600 * 1000), url)
    refused[#refused + 1] = url
  elseif not due_by or (held or due) <= due_by then
    local its = host_of(mine[1] or url)
    local limits = hosts[its]
    if not limits then
      local name, concurrency, spacing, min_interval = gate_of(mine[1] or url)
      limits = {gate = name, concurrency = concurrency or usual_concurrency, spacing = spacing or usual_spacing,
                min_interval = min_interval or 0}
      hosts[its] = limits
    end
    local host, concurrency, spacing = limits.gate, limits.concurrency, limits.spacing
    local gate = gates[host]
    if not gate then
      gate = read_host(host)
      gates[host] = gate
    end
    local rested = limits.min_interval == 0 and 0 or (tonumber(mine[3]) or 0) + limits.min_interval
    if rested > now and mine[4] ~= 'manual' then  -- not due at all: it is not waited for as one that is put off
      redis.call('ZADD', schedule_key, 'XX', text(rested), url)
      redis.call('HSET', state_key(url), 'won', 'override')
      redis.call('HDEL', state_key(url), 'held')
    elseif gate.in_flight < concurrency and now >= gate.last_start + spacing and now >= gate.not_before then
      local claim = worker .. ':' .. request .. '-' .. (#claims + 1)
      redis.call('ZADD', schedule_key, 'XX', text(now + lease), url)
      redis.call('HSET', state_key(url), 'claim', claim, 'claim_due', text(held or due))
      redis.call('HDEL', state_key(url), 'held', 'claim_part')
      gate.last_start, gate.in_flight = now, gate.in_flight + 1
      redis.call('HSET', host_key(host), 'last_start', text(now), 's:' .. claim, text(now + lease))
      redis.call('PEXPIRE', host_key(host), text(math.max(now + lease, gate.tail, gate.not_before) - now + lease))
      claims[#claims + 1] = {url, claim, text(held or due), redis.call('HGETALL', state_key(url))}
      batch[#batch + 1] = {url, claim, text(held or due)}
    else
      local at
      if held then
        at = now + spacing
      else
        gate.tail = math.max(gate.tail, now) + spacing
        at = gate.tail
        redis.call('HSET', host_key(host), 'tail', text(gate.tail))
        redis.call('PEXPIRE', host_key(host), text(math.max(now + lease, gate.tail, gate.not_before) - now + lease))
        redis.call('HSET', state_key(url), 'held', text(due), 'won', 'host_spacing')
      end
      at = math.max(at, gate.not_before, now + 100)
      redis.call('ZADD', schedule_key, 'XX', text(at), url)
      deferred[#deferred + 1] = {url, text(at)}
    end
  end
end
if #batch > 0 then
  redis.call('HSET', worker_key, 'request', request, 'batch', cmsgpack.pack(batch))
  redis.call('PEXPIRE', worker_key, text(lease))
end
local exhausted = looked_at * 2 == #candidates and (#ARGV > 8 or looked_at < scan)
return {text(now), next_due(), exhausted and 1 or 0, claims, deferred, refused}
