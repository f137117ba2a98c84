-- State that workers share about a server (HTTP §6), or about a group of hosts with one gate (HTTP H7): the hash
-- state:host:<gate>, which expires once it is irrelevant. All ports of a host share slots and starts: a gate of a port
-- other than 80 and 443 keeps them in the host's hash.
--   s:<claim>                              a slot: end of its lease (HTTP §6)
--   last_start                             when a request last started (HTTP H1)
--   tail                                   of a hub: the last reserved time (WEBSUB S5)
--   waiting                                feeds wait in its line, line:<gate>; a hint, like everything here
--   kept_for, kept_until                   owner of the next start: a redirected claim, a worker with a waiting
--                                          operator, or 'line'; and until when it is reserved (HTTP H6)
--   refused_by, refused_at, refused_until  the last refusal while the circuit is closed: the feed, when, its
--                                          Retry-After (HTTP H3); refused_as: the egress name, if it has one (HTTP H10)
--   closed, not_before, refusals, cause    the circuit breaker is open (`closed` refers to the host): until when, how
--                                          often it opened, and why (HTTP H4)
--   probe                                  the claim that probes whether the host serves again (HTTP H5)
--   slow, calm                             multiplies the spacing; successes since then (HTTP H5)
--   served_at                              last 200 response, to the day (HTTP §4, row 403)
--   identity_until, http1_until            content codings or HTTP/2 fail there (HTTP §4, P20)
--   window                                 "at failed others digest …": when healthy feeds began to fail alike, the
--                                          number that did, of other answers, and digests of the first (HTTP H11)
--   storm, storm_wait                      the host is in trouble, not its feeds: since when, and the wait before the
--                                          next probe
--   storm_served, storm_need               successful probes in a row, and how many end the storm
--   storm_ended, storm_over                when the last storm ended; when one was ended for lasting too long: none is
--                                          detected until the host has served again
--   q:<egress>                             its quota for requests under that egress name (HTTP H10), '-' = no name:
--                                          numbers in the order of quota_fields
--   long_told                              "<until> <URL digest>": one feed was given a pace of over an hour (HTTP H10)

-- When a feed becomes due if `count` feeds are made due together: now, or for many, up to a quarter of a second ago.
-- This separates the feeds of a host in the schedule, so that they can reuse its connections (HTTP X1).
local function due_among(count, url, now)
  return count > 16 and now - tonumber(string.sub(redis.sha1hex(url), 1, 2), 16) or now
end

-- The quota of an egress name at a gate (HTTP H10).
--   pace               minimum interval between starts
--   start, apart       the last start under this name, and its distance from the one before
--   hold               no start before this time
--   good, bad          the shortest proven pace, the longest refused one; 0 = none
--   calm               requests served at this pace in a row
--   try_at, rest       when a shorter pace is tried again, and the pause after that
--   told_at            when the server itself last gave the pace; 0 = learned from refusals
--   told_until         until when the given pace holds
--   tried_until        told_until of the pace in which an operator's request last started early
local quota_fields = {'pace', 'start', 'apart', 'hold', 'good', 'bad', 'calm', 'try_at', 'rest', 'told_at', 'told_until',
                      'tried_until'}
local most_quotas, quota_kept = 16, 30 * day_ms

local function read_quota(written)
  local quota, i = {}, 0
  for number in string.gmatch(written, '%S+') do
    i = i + 1
    if quota_fields[i] then quota[quota_fields[i]] = tonumber(number) or 0 end
  end
  for _, name in ipairs(quota_fields) do quota[name] = quota[name] or 0 end
  -- An earlier build wrote no end.
  if quota.told_at > 0 and quota.told_until == 0 then quota.told_until = quota.told_at + day_ms end
  return quota
end
local function write_quota(gate)
  local field = 'q:' .. gate.egress
  if not gate.quota then return redis.call('HDEL', gate.key, field) end
  local numbers = {}
  for i, name in ipairs(quota_fields) do numbers[i] = text(gate.quota[name]) end
  redis.call('HSET', gate.key, field, table.concat(numbers, ' '))
end

-- A new name at a gate starts with another name's pace. Forgets names not used for a month, this name's given pace once
-- it has expired, and the least recently used name if there are too many.
local function sort_quotas(gate, now)
  local oldest, count = nil, 0
  for name, quota in pairs(gate.quotas) do
    local is_over = quota.told_at > 0 and quota.told_until <= now
    if quota.start + quota_kept < now and quota.hold < now or is_over and name == gate.egress then
      gate.quotas[name] = nil
      redis.call('HDEL', gate.key, 'q:' .. name)
    elseif not is_over then
      count = count + 1
      if not oldest or quota.start < gate.quotas[oldest].start then oldest = name end
    end
  end
  gate.quota = gate.quotas[gate.egress]
  if gate.quota or count == 0 then return end
  local known = gate.quotas[oldest]
  gate.quota = read_quota(text(known.pace))
  gate.quota.told_at, gate.quota.told_until = known.told_at, known.told_until
  if count >= most_quotas then
    gate.quotas[oldest] = nil
    redis.call('HDEL', gate.key, 'q:' .. oldest)
  end
  gate.quotas[gate.egress] = gate.quota
end

-- Minimum interval between two starts at a gate, and when the next one may be. A spacing that the operator has set for
-- the host (gate.by_hand) overrides the learned pace.
local function gap_of(gate, spacing)
  local gap = spacing * gate.slow
  return gate.quota and not gate.by_hand and math.max(gap, gate.quota.pace) or gap
end
local function opens_for(gate, spacing, quota)
  local at = gate.host.last_start + spacing * gate.slow
  return quota and not gate.by_hand and math.max(at, quota.hold, quota.start + quota.pace) or at
end
local function opens_at(gate, spacing) return opens_for(gate, spacing, gate.quota) end
-- opens_at() for the recently used name for which the gate opens first; also returns the number of such names.
local function opens_first(gate, spacing, now)
  local first, ways = opens_at(gate, spacing), 1
  for name, quota in pairs(gate.quotas or {}) do
    if name ~= gate.egress and quota.start + 3 * quota.pace + 10 * minute_ms > now then
      local at = opens_for(gate, spacing, quota)
      -- Its given pace may end before.
      if quota.told_at > 0 then at = math.min(at, math.max(quota.told_until, opens_for(gate, spacing))) end
      first, ways = math.min(first, at), ways + 1
    end
  end
  return first, ways
end

-- Until when a gate's hash is relevant, refusals excluded.
local function says_until(gate)
  local last = math.max(gate.host.key == gate.key and gate.host.slots_end or 0, gate.tail, gate.not_before,
                        gate.kept_until, gate.refused_at + 10 * minute_ms, gate.served_at + 7 * day_ms,
                        gate.identity_until, gate.http1_until)
  if gate.long_told then last = math.max(last, tonumber(string.match(gate.long_told, '^%d+') or nil) or 0) end
  if gate.storm then last = math.max(last, gate.not_before + day_ms) end
  if gate.storm_ended > 0 then last = math.max(last, gate.storm_ended + day_ms) end
  if gate.storm_over > 0 then last = math.max(last, gate.storm_over + 30 * day_ms) end
  if gate.window then last = math.max(last, (tonumber(string.match(gate.window, '^%d+')) or 0) + 10 * minute_ms) end
  if gate.quotas then
    for _, quota in pairs(gate.quotas) do last = math.max(last, quota.start + quota_kept, quota.hold) end
  end
  return last
end

-- Defaults of missing fields.
local bare_gate = {__index = {tail = 0, not_before = 0, kept_until = 0, refusals = 0, slow = 1, calm = 0, refused_at = 0,
                              served_at = 0, identity_until = 0, http1_until = 0, storm_over = 0, storm_ended = 0}}

-- The slots and last start of a host, shared by its gates within a script: {key, in_flight, slots_end, last_start,
-- taken by this script or false, whether its hash is new}. `fields`: its hash, if already read.
local hosts_read = {}
local function starts_of(host, now, fields)
  local starts = hosts_read[host]
  if starts then return starts end
  starts = {key = host_key(host), in_flight = 0, slots_end = 0, last_start = 0, taken = false, is_new = true}
  hosts_read[host] = starts
  fields = fields or redis.pcall('HGETALL', starts.key)
  if fields.err then
    redis.call('DEL', starts.key)
    fields = {}
  end
  for i = 1, #fields, 2 do
    if fields[i] == 'last_start' then
      starts.last_start, starts.is_new = tonumber(fields[i + 1]) or 0, false
    elseif string.sub(fields[i], 1, 2) == 's:' then
      local lease_end = tonumber(fields[i + 1]) or 0
      if lease_end > now then
        starts.is_new = false
        starts.in_flight, starts.slots_end = starts.in_flight + 1, math.max(starts.slots_end, lease_end)
      else
        redis.call('HDEL', starts.key, fields[i])
      end
    else
      starts.is_new = false
    end
  end
  return starts
end

-- Reads the state of a gate. `egress`: the caller's egress name, '' = none; nil if quotas do not matter. `by_hand`: the
-- host's spacing was set by the operator.
local function read_host(name, now, egress, by_hand)
  local host = host_of_gate(name)
  local gate = setmetatable({name = name, key = host_key(name), by_hand = by_hand, host = false, egress = '-', kept = 0,
                             taken = false}, bare_gate)
  local fields = redis.pcall('HGETALL', gate.key)
  if fields.err then  -- not a hash: the data is transient and must not stop claims
    redis.call('DEL', gate.key)
    fields = {}
  end
  for i = 1, #fields, 2 do
    local name, value = fields[i], fields[i + 1]
    local kind = string.sub(name, 1, 2)
    if kind == 'q:' then
      gate.quotas = gate.quotas or {}
      gate.quotas[string.sub(name, 3)] = read_quota(value)
    elseif kind ~= 's:' and name ~= 'last_start' then
      gate[name] = name ~= 'refused_as' and tonumber(value) or value
    end
  end
  gate.host = starts_of(host, now, host == name and fields or nil)
  if egress and egress ~= '' then gate.egress = egress end
  if gate.quotas and egress then sort_quotas(gate, now) end
  gate.kept = #fields > 0 and says_until(gate) or 0
  return gate
end

-- Keeps the hash while it is relevant, plus a minute. Usually its expiry is already right.
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

-- Whether an operator's request may start once ahead of a given pace (HTTP H10).
local function may_try(gate, now)
  local quota = gate.quota
  return quota ~= nil and quota.told_until > now and quota.tried_until <= now
end

-- Why a request of `asker` may not start now, nil if it may (HTTP H1, H4, H5, H6, H10). `wished`: an operator waits for
-- it.
local function why_not(gate, now, concurrency, spacing, asker, wished)
  local quota = not (wished and may_try(gate, now)) and gate.quota or nil
  if now < gate.not_before or (gate.closed and gate.host.in_flight > 0) then return 'host_backoff' end
  if now < opens_for(gate, 0, quota) then return 'host_backoff' end
  if gate.host.in_flight >= concurrency or now < opens_for(gate, spacing, quota) or
     (now < gate.kept_until and tostring(gate.kept_for) ~= asker) then
    return 'host_spacing'
  end
end

-- When `asker`, which may not start now, may retry, under any name; without `asker`, the first of the line. The end of
-- a running request is unknown, but it wakes the line. With several names in use, at least 200 ms from now.
local function next_start(gate, now, concurrency, spacing, asker)
  local first, ways = opens_first(gate, spacing, now)
  local kept = tostring(gate.kept_for) ~= (asker or 'line') and gate.kept_until or 0
  local at = math.max(gate.not_before, first, kept, now + (ways > 1 and 200 or 1))
  if gate.host.in_flight >= (gate.closed and 1 or concurrency) then at = math.max(at, now + 1000) end
  return at
end

-- Reserves the next start for an asker outside the line and the one after it for the line: neither starves.
local function keep_start(gate, asker, now, at)
  if now < gate.kept_until then return end
  gate.kept_for, gate.kept_until = asker, at + 1000
  redis.call('HSET', gate.key, 'kept_for', asker, 'kept_until', text(gate.kept_until))
  keep_host(gate, now)
end

-- Takes a slot until `lease_end`; write_slots() writes it. While the circuit is open, the only request that may start
-- is the probe. `gap`: until the next start.
local function take_slot(gate, claim, now, lease_end, asker, gap)
  local host = gate.host
  host.last_start, host.in_flight = now, host.in_flight + 1
  host.slots_end = math.max(host.slots_end, lease_end)
  if not host.taken then host.taken = {} end
  host.taken[#host.taken + 1], host.taken[#host.taken + 2] = 's:' .. claim, text(lease_end)
  gate.taken, gate.probe_taken = true, gate.closed and claim or gate.probe_taken
  local quota = gate.quota
  if quota then
    if now < math.max(quota.hold, quota.start + quota.pace) then quota.tried_until = quota.told_until end
    quota.apart, quota.start = now - quota.start, now
  end
  if tostring(gate.kept_for) == asker then
    redis.call('HDEL', gate.key, 'kept_for', 'kept_until')
    gate.kept_for, gate.kept_until = nil, 0
    if asker ~= 'line' and gate.waiting then
      keep_start(gate, 'line', now, now + gap)
      redis.pcall('ZADD', lines_key, 'XX', 'LT', text(now + gap), gate.name)
    end
  end
end

-- Writes the slots and times taken at a gate.
local function write_slots(gate, now)
  if gate.reserved then redis.call('HSET', gate.key, 'tail', text(gate.tail)) end
  local host = gate.host
  if host.taken then
    redis.call('HSET', host.key, 'last_start', text(host.last_start), unpack(host.taken))
    host.taken = false
    if host.key ~= gate.key then  -- and never shortens the expiry set by the gate of the usual ports
      local rest = text(host.slots_end - now + minute_ms)
      if host.is_new then redis.call('PEXPIRE', host.key, rest) else redis.call('PEXPIRE', host.key, rest, 'GT') end
    end
  end
  if gate.probe_taken then redis.call('HSET', gate.key, 'probe', gate.probe_taken) end
  if gate.taken and gate.quota then write_quota(gate) end
  -- A slot that ends before the hash does changes nothing.
  local is_kept = not (gate.reserved or gate.quota) and gate.refusals == 0 and host.slots_end <= gate.kept
  if (gate.reserved or gate.taken) and not is_kept then keep_host(gate, now) end
end
