-- What all workers know of a host (HTTP §6), or of a group of hosts that share a gate (HTTP H7): the hash
-- state:host:<host>, which goes by itself when it says nothing more.
--   s:<claim>                              a slot: end of its lease (HTTP H2)
--   last_start                             when a request last started (HTTP H1)
--   tail                                   of a hub: the last time that was reserved (WEBSUB S5)
--   waiting                                feeds stand in its line, line:<gate>; a hint, as all of this is
--   kept_for, kept_until                   whom the next start is kept for: a claim that was led here, a worker whose
--                                          operator waits, or 'line'; and how long (HTTP H6)
--   refused_by, refused_at, refused_until  the last refusal while the circuit is closed: whose, when, its Retry-After
--                                          (HTTP H3)
--   closed, not_before, refusals, cause    the circuit breaker is open (the field's name says it of the host): until
--                                          when, how often it was, and why (HTTP H4)
--   probe                                  the claim that tries whether the host serves again (HTTP H5)
--   slow, calm                             spacing is multiplied by it; successes since it was (HTTP H5)
--   served_at                              when it last answered 200, to the day (HTTP §4, row 403)
--   identity_until, http1_until            it fails at content codings, at HTTP/2 (HTTP §4, P20)
local minute_ms, day_ms = 60000, 24 * 3600 * 1000

-- When a feed becomes due that is made so together with others, `count` in all: now; of many up to a quarter of a second
-- ago, so that those of one host do not stand side by side in the schedule, where none could use the connection of
-- another (HTTP X1).
local function due_among(count, url, now)
  return count > 16 and now - tonumber(string.sub(redis.sha1hex(url), 1, 2), 16) or now
end

-- Until when a gate says something, its refusals apart.
local function says_until(gate)
  return math.max(gate.slots_end, gate.tail, gate.not_before, gate.kept_until, gate.refused_at + 10 * minute_ms,
                  gate.served_at + 7 * day_ms, gate.identity_until, gate.http1_until)
end

-- What holds of whatever a hash does not say.
local bare_gate = {__index = {in_flight = 0, slots_end = 0, last_start = 0, tail = 0, not_before = 0, kept_until = 0, refusals = 0,
                              slow = 1, calm = 0, refused_at = 0, served_at = 0, identity_until = 0, http1_until = 0}}
local function read_host(name, now)
  local gate = setmetatable({name = name, key = host_key(name)}, bare_gate)
  local fields = redis.pcall('HGETALL', gate.key)
  if fields.err then  -- no hash: it is of the moment only, and must not stop the claims
    redis.call('DEL', gate.key)
    fields = {}
  end
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    if string.sub(name, 1, 2) ~= 's:' then
      gate[name] = tonumber(value) or value
    elseif tonumber(value) > now then
      gate.in_flight, gate.slots_end = gate.in_flight + 1, math.max(gate.slots_end, tonumber(value))
    else
      redis.call('HDEL', gate.key, name)
    end
  end
  gate.kept = #fields > 0 and says_until(gate) or 0
  return gate
end

-- Keeps the hash for as long as it says something, and a minute longer. What it says the longest mostly stood there
-- before, and its time with it.
local function keep_host(gate, now)
  local last = says_until(gate)
  if gate.refusals > 0 then
    last = math.max(last, now + day_ms, gate.not_before + day_ms)
  elseif last > now and last == gate.kept then
    return
  end
  redis.call('PEXPIRE', gate.key, text(math.max(now, last) - now + minute_ms))
  gate.kept = last
end

-- How far apart requests start at a gate.
local function gap_of(gate, spacing) return spacing * gate.slow end

-- Why no request of `asker` may start now, nil when one may (HTTP H1, H4, H5, H6).
local function why_not(gate, now, concurrency, spacing, asker)
  if now < gate.not_before or (gate.closed and gate.in_flight > 0) then return 'host_backoff' end
  if gate.in_flight >= concurrency or now < gate.last_start + gap_of(gate, spacing) or
     (now < gate.kept_until and tostring(gate.kept_for) ~= asker) then
    return 'host_spacing'
  end
end

-- When one who may not start now may try again. When a request under way ends is not known: its end tells the line.
local function next_start(gate, now, concurrency, spacing)
  local at = math.max(gate.not_before, gate.last_start + gap_of(gate, spacing), gate.kept_until)
  if gate.in_flight >= (gate.closed and 1 or concurrency) then at = math.max(at, now + 1000) end
  return at
end

-- Keeps the next start for who may not stand in the line, the one behind it for the line: neither waits for ever.
local function keep_start(gate, asker, now, at)
  if now < gate.kept_until then return end
  gate.kept_for, gate.kept_until = asker, at + 1000
  redis.call('HSET', gate.key, 'kept_for', asker, 'kept_until', text(gate.kept_until))
  keep_host(gate, now)
end

-- Takes a slot until `lease_end`, which write_slots() writes. While the circuit is open, the one request that may start
-- is the probe. `gap`: until the next start.
local function take_slot(gate, claim, now, lease_end, asker, gap)
  gate.last_start, gate.in_flight = now, gate.in_flight + 1
  gate.slots_end = math.max(gate.slots_end, lease_end)
  local taken = gate.taken or {}
  taken[#taken + 1], taken[#taken + 2] = 's:' .. claim, text(lease_end)
  if gate.closed then taken[#taken + 1], taken[#taken + 2] = 'probe', claim end
  gate.taken = taken
  if tostring(gate.kept_for) == asker then
    redis.call('HDEL', gate.key, 'kept_for', 'kept_until')
    gate.kept_for, gate.kept_until = nil, 0
    if asker ~= 'line' and gate.waiting then keep_start(gate, 'line', now, now + gap) end
  end
end

-- Writes what was taken or reserved at a gate.
local function write_slots(gate, now)
  if gate.reserved then redis.call('HSET', gate.key, 'tail', text(gate.tail)) end
  if gate.taken then redis.call('HSET', gate.key, 'last_start', text(gate.last_start), unpack(gate.taken)) end
  if gate.reserved or gate.taken then keep_host(gate, now) end
end

-- A request to a host has ended: the next in its line may start.
local function tell_line(gate)
  if redis.pcall('HGET', host_key(gate), 'waiting') == '1' then redis.pcall('ZADD', lines_key, 'XX', 'LT', '0', gate) end
end

-- Gives back what a claim holds: at the gate that is asked first, and at those of the hosts that it was led to.
local function free_slots(claim, first_gate, more_hosts)
  local function free(gate)
    if redis.pcall('HDEL', host_key(gate), 's:' .. claim) == 1 then tell_line(gate) end
  end
  free(first_gate)
  for host in string.gmatch(more_hosts or '', '%S+') do free((gate_of_host(host))) end
end

-- Notes how a host answered. `is`: 'served', 'refused' or '' (it says nothing); `marks`: d = a document, i = needs
-- identity, 1 = needs HTTP/1.1; `retry_at`: its Retry-After, 0 = none. Returns what became of its circuit
-- breaker: 'opened', 'closed', or '' = nothing.
local function note_answer(gate, url, claim, now, is, cause, retry_at, marks)
  local set, unset, event = {}, {}, ''
  local function put(name, value)
    gate[name] = value
    set[#set + 1] = name
    set[#set + 1] = type(value) == 'number' and text(value) or value
  end
  local function drop(...)
    for _, name in ipairs({...}) do unset[#unset + 1] = name end
  end
  local function open_circuit(until_when)
    put('refusals', gate.refusals + 1)
    put('cause', cause)
    local back = math.min(day_ms, 15 * minute_ms * 2 ^ math.min(gate.refusals - 1, 10))
    put('not_before', until_when > now and until_when or now + back)
    drop('probe', 'refused_by', 'refused_at', 'refused_until')
  end
  if string.find(marks, 'd', 1, true) and now - gate.served_at > day_ms then put('served_at', now) end
  if string.find(marks, 'i', 1, true) then put('identity_until', now + 7 * day_ms) end
  if string.find(marks, '1', 1, true) then put('http1_until', now + 7 * day_ms) end
  local probed = gate.closed and gate.probe == claim
  if is == 'refused' then
    if probed then
      open_circuit(retry_at)
    elseif gate.closed then  -- asked before the circuit opened
      if retry_at > gate.not_before then put('not_before', retry_at) end
    elseif gate.refused_by and gate.refused_by ~= url and now - gate.refused_at <= 10 * minute_ms then
      open_circuit(math.max(retry_at, gate.refused_until or 0))
      put('closed', 1)
      event = 'opened'
    else
      put('refused_by', url)
      put('refused_at', now)
      put('refused_until', retry_at)
    end
  elseif is == 'served' and probed then
    put('slow', math.min(gate.slow * 2, 64))
    drop('closed', 'probe', 'not_before', 'calm')
    event = 'closed'
  elseif is == 'served' and not gate.closed and gate.slow > 1 then
    if gate.calm < 9 then
      put('calm', gate.calm + 1)
    else
      put('slow', gate.slow / 2)
      drop('calm')
      if gate.slow <= 1 then drop('slow', 'refusals', 'cause') end
    end
  end
  if #set > 0 then redis.call('HSET', gate.key, unpack(set)) end
  if #unset > 0 then redis.call('HDEL', gate.key, unpack(unset)) end
  if #set > 0 then keep_host(gate, now) end
  -- Whose circuits are open, until when: for people who look, so its key must not stop a commit either.
  if gate.closed and is == 'refused' then
    redis.pcall('ZREMRANGEBYSCORE', open_circuits_key, '-inf', text(now - day_ms))
    redis.pcall('ZADD', open_circuits_key, text(gate.not_before), gate.name)
  elseif event == 'closed' then
    redis.pcall('ZREM', open_circuits_key, gate.name)
  end
  return event, gate.not_before
end
