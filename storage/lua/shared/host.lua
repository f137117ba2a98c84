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
local minute_ms, day_ms = 60000, 24 * 3600 * 1000

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
local least_pace, most_pace, most_told_alone = 1000, 6 * 3600 * 1000, 3600 * 1000
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

-- A new name at a gate starts with another name's pace. Forgets names not used for a month, given paces that have
-- expired, and the least recently used name if there are too many.
local function sort_quotas(gate, now)
  local oldest, count = nil, 0
  for name, quota in pairs(gate.quotas) do
    if quota.start + quota_kept < now and quota.hold < now or quota.told_at > 0 and quota.told_until <= now then
      gate.quotas[name] = nil
      redis.call('HDEL', gate.key, 'q:' .. name)
    else
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
      first, ways = math.min(first, opens_for(gate, spacing, quota)), ways + 1
    end
  end
  return first, ways
end

-- Until when a gate's hash is relevant, refusals excluded.
local function says_until(gate)
  local last = math.max(gate.host.key == gate.key and gate.host.slots_end or 0, gate.tail, gate.not_before,
                        gate.kept_until, gate.refused_at + 10 * minute_ms, gate.served_at + 7 * day_ms,
                        gate.identity_until, gate.http1_until,
                        tonumber(string.match(gate.long_told or '', '^%d+') or nil) or 0)
  if gate.storm then last = math.max(last, gate.not_before + day_ms) end
  if gate.storm_ended > 0 then last = math.max(last, gate.storm_ended + day_ms) end
  if gate.storm_over > 0 then last = math.max(last, gate.storm_over + 30 * day_ms) end
  if gate.window then last = math.max(last, (tonumber(string.match(gate.window, '^%d+')) or 0) + 10 * minute_ms) end
  for _, quota in pairs(gate.quotas or {}) do last = math.max(last, quota.start + quota_kept, quota.hold) end
  return last
end

-- Defaults of missing fields.
local bare_gate = {__index = {tail = 0, not_before = 0, kept_until = 0, refusals = 0, slow = 1, calm = 0, refused_at = 0,
                              served_at = 0, identity_until = 0, http1_until = 0, storm_over = 0, storm_ended = 0}}

-- The slots and last start of a host, shared by its gates within a script: {key, in_flight, slots_end, last_start}.
-- `fields`: its hash, if already read.
local hosts_read = {}
local function starts_of(host, now, fields)
  local starts = hosts_read[host]
  if starts then return starts end
  starts = {key = host_key(host), in_flight = 0, slots_end = 0, last_start = 0}
  hosts_read[host] = starts
  fields = fields or redis.pcall('HGETALL', starts.key)
  if fields.err then
    redis.call('DEL', starts.key)
    fields = {}
  end
  for i = 1, #fields, 2 do
    if fields[i] == 'last_start' then
      starts.last_start = tonumber(fields[i + 1]) or 0
    elseif string.sub(fields[i], 1, 2) == 's:' then
      local lease_end = tonumber(fields[i + 1]) or 0
      if lease_end > now then
        starts.in_flight, starts.slots_end = starts.in_flight + 1, math.max(starts.slots_end, lease_end)
      else
        redis.call('HDEL', starts.key, fields[i])
      end
    end
  end
  return starts
end

-- Reads the state of a gate. `egress`: the caller's egress name, '' = none; nil if quotas do not matter. `by_hand`: the
-- host's spacing was set by the operator.
local function read_host(name, now, egress, by_hand)
  local gate = setmetatable({name = name, key = host_key(name), by_hand = by_hand}, bare_gate)
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
  local host = host_of_gate(name)
  gate.host = starts_of(host, now, host == name and fields or nil)
  gate.egress = egress and egress ~= '' and egress or '-'
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
  host.taken = host.taken or {}
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
    host.taken = nil
    if host.key ~= gate.key then  -- and never shortens the expiry set by the gate of the usual ports
      for _, when in ipairs({'NX', 'GT'}) do
        redis.call('PEXPIRE', host.key, text(host.slots_end - now + minute_ms), when)
      end
    end
  end
  if gate.probe_taken then redis.call('HSET', gate.key, 'probe', gate.probe_taken) end
  if gate.taken and gate.quota then write_quota(gate) end
  if gate.reserved or gate.taken then keep_host(gate, now) end
end

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

-- A series of requests was served at this pace: try a shorter one, at least half as long. Once the limit is known
-- within a fifth, retry less and less often whether the host allows more.
local function quicken(quota, now)
  quota.good, quota.calm = quota.pace, 0
  if quota.bad >= quota.good then quota.bad = 0 end  -- an earlier refusal no longer holds
  if quota.bad == 0 or quota.good > 1.2 * quota.bad then
    quota.try_at = 0
    quota.pace = math.max(math.sqrt(math.max(quota.bad, least_pace / 2) * quota.good), quota.good / 2)
  elseif quota.try_at == 0 then
    quota.rest = 36 * 3600 * 1000
    quota.try_at = now + quota.rest
  elseif now >= quota.try_at then
    quota.pace = quota.bad
    quota.rest = math.min(2 * quota.rest, 7 * day_ms)
    quota.try_at = now + quota.rest
  end
end

-- A request at this pace was refused after one that was served. `wait`: the pause that the host requested, nil = none.
local function slow_down(quota, wait)
  local was = math.max(quota.pace, least_pace)
  if quota.good > was then  -- a shorter pace was tried
    quota.bad, quota.pace = was, quota.good
  else
    local near = quota.good > 0 and 1.15 or quota.bad > was / 2 and 2 or 4
    local pace = was * near
    -- If a window had just begun, it ends with the requested pause.
    if wait then pace = math.max(1.15 * was, math.min(pace, quota.apart + wait + 1000)) end
    quota.bad, quota.good, quota.pace = was, 0, math.min(pace, most_pace)
  end
  quota.calm = 0
end

-- Whether a pace given to one feed binds the others: if longer than an hour, only once two feeds of this server were
-- given such a pace (HTTP H10). The feed itself obeys it in any case.
local function is_for_all(gate, url, now, told)
  if math.max(told.gap, told.pace) <= most_told_alone then return true end
  local quota = gate.quota
  if quota and quota.told_until > now and math.max(quota.hold - quota.told_at, quota.pace) > most_told_alone then
    return true
  end
  local until_when, who = string.match(gate.long_told or '', '^(%d+) (%x+)$')
  local digest = string.sub(redis.sha1hex(url), 1, 16)
  if who and who ~= digest and tonumber(until_when) > now then return true end
  gate.long_told = text(now + told.lasts) .. ' ' .. digest
  redis.call('HSET', gate.key, 'long_told', gate.long_told)
  return false
end

-- Learns about the quota from an answer. `told`: from its header, nil = none; `refused`: 'first' after a served
-- request, 'again' after another refusal.
local function note_quota(gate, url, now, refused, told, retry_at)
  local quota = gate.quota
  local known = quota
  if told and not is_for_all(gate, url, now, told) then
    if not refused then return end
    told = nil
  end
  local is_told = quota and quota.told_at > 0
  if refused then
    local wait = retry_at > now and retry_at - now or told and told.gap
    if not quota then  -- the distance was not recorded yet
      quota = read_quota(text(least_pace))
      quota.start, quota.apart = gate.host.last_start, least_pace
    end
    if told and told.pace > 0 then
      quota.pace, quota.told_at, quota.told_until = told.pace, now, now + told.lasts
    elseif refused == 'first' and not is_told then
      slow_down(quota, wait)
    end
    -- A single refusal does not block others for long unless it is about a quota: it may concern one feed (HTTP H3).
    quota.hold = now + (told and told.gap or math.min(wait or math.max(quota.pace, minute_ms), 10 * minute_ms))
  elseif told and math.max(told.gap, told.pace) < least_pace then
    quota = nil
  elseif told then
    quota = quota or read_quota('0 ' .. text(gate.host.last_start))
    quota.pace, quota.hold, quota.told_at, quota.told_until = told.pace, now + told.gap, now, now + told.lasts
    quota.good, quota.bad, quota.calm, quota.try_at = 0, 0, 0, 0
  elseif is_told then  -- but not repeated
    quota = nil
  elseif quota and quota.apart <= 1.5 * math.max(quota.pace, least_pace) then
    quota.calm = quota.calm + 1
    if quota.calm >= 30 then quicken(quota, now) end
    if quota.bad == 0 and quota.pace <= least_pace then quota = nil end
  else
    return
  end
  if not quota and not known then return end
  gate.quotas = gate.quotas or {}
  gate.quota, gate.quotas[gate.egress] = quota, quota
  write_quota(gate)
end

-- HTTP H11. Detects a host's own trouble. `failed`: a healthy feed has failed in a way typical of host trouble. Returns
-- 'storm' when one begins, 'storm_over' when it ends, '' for no change.
local storm_window, storm_feeds, longest_storm = 10 * minute_ms, 5, 7 * day_ms
local function note_failure(gate, url, now, failed, put, drop)
  local at, count, others, digests = string.match(gate.window or '', '^(%d+) (%d+) (%d+) ?(.*)$')
  local age = at and now - tonumber(at)
  -- With few feeds per window, five failures take longer.
  if at and (age < 0 or age > 6 * storm_window or age > storm_window and tonumber(count) <= tonumber(others)) then
    at = nil
    if not failed then drop('window') end
  end
  if not at and not failed then return '' end
  if not at then at, count, others, digests = text(now), 0, 0, '' end
  count, others = tonumber(count), tonumber(others)
  local digest = string.sub(redis.sha1hex(url), 1, 8)
  if not failed then
    others = others + 1
  elseif not string.find(digests, digest, 1, true) then
    count = count + 1
    if count <= storm_feeds then digests = digests .. ' ' .. digest end
  end
  local may_begin = gate.storm_over == 0 or gate.storm_over < gate.served_at
  if failed and count >= storm_feeds and count >= others and may_begin then
    put('storm', now)
    put('closed', 1)
    put('cause', 'storm')
    put('storm_wait', minute_ms)
    put('not_before', now + minute_ms)
    put('storm_need', now - gate.storm_ended < day_ms and math.min(2 * (gate.storm_need or 3), 48) or 3)
    drop('window', 'probe', 'storm_over', 'storm_served')
    return 'storm'
  end
  put('window', at .. ' ' .. text(count) .. ' ' .. text(others) .. ' ' .. (string.gsub(digests, '^ ', '')))
  return ''
end

-- During a storm feeds probe one after the other, at growing intervals. Three served in a row end it; if it resumes
-- within a day, twice as many are needed each time.
local function note_probe(gate, now, is_served, put, drop)
  local served = is_served and (gate.storm_served or 0) + 1
  if served and served < (gate.storm_need or 3) then
    put('storm_served', served)
    put('not_before', now)
    drop('probe')
    return ''
  elseif is_served or now - gate.storm >= longest_storm then
    drop('storm', 'storm_wait', 'storm_served', 'closed', 'probe', 'not_before', 'cause')
    put('storm_ended', now)
    if not is_served then  -- its feeds now fail individually, not all at once
      put('storm_over', now)
      put('slow', 16)
    end
    return 'storm_over'
  end
  put('storm_wait', math.min(2 * (gate.storm_wait or minute_ms), 30 * minute_ms))
  put('not_before', now + gate.storm_wait)
  drop('probe', 'storm_served')
  return ''
end

-- Parses `marks`: how the host answered, the egress name, and the quota from its header.
local function read_marks(marks)
  local flags, egress, gap, pace, lasts = string.match(marks, '^(%w*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
  local told = tonumber(gap or nil) and {gap = tonumber(gap), pace = tonumber(pace) or 0, lasts = tonumber(lasts) or 0}
  return flags or '', egress or '', told
end

-- Records how a host answered. `is`: 'served', 'refused' or '' (neither). `marks`: d = a document, i = needs identity,
-- 1 = needs HTTP/1.1, q = the refusal may be for a quota, m = the answer shows no limits of the host, because it is for
-- a feed from another site or not a feed; after a space the egress name and the quota from the header: ms until the
-- next start, between starts, and until it expires. `cause`: of a refusal; else how a healthy feed, or a storm's probe,
-- failed. `retry_at`: its Retry-After, 0 = none. `gate` must have been read for that egress name. Returns the change of
-- its circuit breaker: 'opened', 'closed', 'storm', 'storm_over', or '' = none.
local function note_answer(gate, url, claim, now, is, cause, retry_at, marks)
  local set, unset, event = {}, {}, ''
  local flags, _, told = read_marks(marks)
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
    drop('probe', 'refused_by', 'refused_as', 'refused_at', 'refused_until')
  end
  if string.find(flags, 'd', 1, true) and now - gate.served_at > day_ms then put('served_at', now) end
  if string.find(flags, 'i', 1, true) then put('identity_until', now + 7 * day_ms) end
  if string.find(flags, '1', 1, true) then put('http1_until', now + 7 * day_ms) end
  local probed = gate.closed and gate.probe == claim
  local known = gate.quota ~= nil
  if is == 'refused' then
    local of_quota = string.find(flags, 'q', 1, true) ~= nil
    local within = math.max(10 * minute_ms, known and 2 * gate.quota.pace or 0)
    local again = gate.refused_by and gate.refused_by ~= url and now - gate.refused_at <= within and
                  (gate.refused_as or '-') == gate.egress  -- another egress address has its own quota
    local same = gate.refused_by == url
    -- A 403 is about a quota only if one is known, or if another feed was refused as well.
    if of_quota and cause ~= 'rate_limited' and not known then
      if again and not gate.closed then again = false else of_quota = false end
    end
    if of_quota and (told or not (again or same or gate.closed)) then
      note_quota(gate, url, now, (again or same or gate.closed) and 'again' or 'first', told, retry_at)
    end
    if probed then
      open_circuit(retry_at)
    elseif gate.closed then  -- requested before the circuit opened
      if retry_at > gate.not_before then put('not_before', retry_at) end
    elseif again then
      open_circuit(math.max(retry_at, gate.refused_until or 0))
      put('closed', 1)
      event = 'opened'
    else
      put('refused_by', url)
      if gate.egress ~= '-' then put('refused_as', gate.egress) elseif gate.refused_as then drop('refused_as') end
      put('refused_at', now)
      put('refused_until', retry_at)
    end
  elseif is == 'served' and (known or told) and not string.find(flags, 'm', 1, true) then
    note_quota(gate, url, now, nil, told, 0)
    -- Occasional refusals are normal at a set pace: only consecutive ones count.
    if gate.refused_by and (gate.refused_as or '-') == gate.egress then
      drop('refused_by', 'refused_as', 'refused_at', 'refused_until')
    end
  end
  local stormy = gate.storm ~= nil
  if stormy and is ~= 'refused' then
    if probed then event = note_probe(gate, now, is == 'served' and cause == '', put, drop) end
  elseif is ~= 'refused' and not gate.closed and (cause ~= '' or gate.window) then
    event = note_failure(gate, url, now, cause ~= '', put, drop)
  end
  if is == 'served' and probed and not stormy then
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
  if #set > 0 or known or told or gate.quota then keep_host(gate, now) end
  -- Lists open circuits by their end, for display: its key must not stop a commit.
  if gate.closed and (is == 'refused' or gate.storm) and event ~= 'storm_over' then
    redis.pcall('ZREMRANGEBYSCORE', open_circuits_key, '-inf', text(now - day_ms))
    redis.pcall('ZADD', open_circuits_key, text(gate.not_before), gate.name)
  elseif event == 'closed' or event == 'storm_over' then
    redis.pcall('ZREM', open_circuits_key, gate.name)
  end
  return event, gate.not_before
end
