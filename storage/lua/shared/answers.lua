-- What a host's answers teach (HTTP §6): appended to host.lua in the scripts that record them.
local least_pace, most_pace, most_told_alone = 1000, 6 * 3600 * 1000, 3600 * 1000

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
