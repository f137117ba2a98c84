-- Prepended to every script. ARGV[1] is the partition's prefix. Keys are named here, in posts.lua, push.lua and
-- deliver.lua, or in the only script that uses them; outside of Lua in storage/store/keys.hpp.
local prefix = ARGV[1]
local schedule_key, hosts_key = prefix .. 'schedule', prefix .. 'conf:hosts'
local lines_key = prefix .. 'lines'
local function line_key(gate) return prefix .. 'line:' .. gate end
local function state_key(url) return prefix .. 'state:feed:' .. url end
local function host_key(host) return prefix .. 'state:host:' .. host end
local workers_key = prefix .. 'state:workers'
local function worker_key(worker) return prefix .. 'state:worker:' .. worker end
local minute_ms, day_ms = 60000, 24 * 3600 * 1000

-- A whole number as text without an exponent: tostring() loses milliseconds. %d takes half the time of %.0f, but cannot
-- print an infinite score.
local function text(number)
  return string.format(number > -1e15 and number < 1e15 and '%d' or '%.0f', number)
end

-- Redis' own clock, unix milliseconds.
local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- Wakes one waiting worker because a feed is due ahead of schedule (RELIABILITY L10). Perhaps none is waiting, so at
-- most one short-lived message is kept.
local function wake_a_worker()
  local key = prefix .. 'state:wake'
  if redis.call('EXISTS', key) == 0 then
    redis.call('LPUSH', key, '1')
    redis.call('PEXPIRE', key, '5000')
  end
end

-- Returns since when a feed is due, and the gate of the line that it waits in (HTTP H1; nil: it is in the schedule).
-- Returns nothing for a feed in neither.
local function due_of(url)
  local due = tonumber(redis.call('ZSCORE', schedule_key, url) or nil)
  if due then return due end
  local line = redis.pcall('HGET', state_key(url), 'line')
  local since = type(line) == 'string' and redis.pcall('ZSCORE', line_key(line), url)
  if type(since) == 'string' then return tonumber(since), line end
end

-- The earliest known start for the first feed in a line, and so for all feeds in it.
local function next_start_of(line, now)
  return math.max(now, tonumber(redis.call('ZSCORE', lines_key, line) or nil) or now)
end

-- Removes a feed from a gate's line. If the line is then empty, the next claim notices.
local function leave_line(url, line)
  redis.pcall('ZREM', line_key(line), url)
  redis.call('HDEL', state_key(url), 'line')
end

-- Moves a feed in the schedule, or from its line into it.
local function schedule_at(url, at, line)
  if not line then return redis.call('ZADD', schedule_key, 'XX', text(at), url) end
  leave_line(url, line)
  redis.call('ZADD', schedule_key, text(at), url)
end

-- A feed that is this late is part of a backlog (HTTP P12).
local overdue_ms = 2000

-- The server of a canonical URL: its host, plus ":port" unless that is 80 or 443.
local function server_of(url)
  local authority = string.match(url, '^%a+://([^/?#]*)') or ''
  if not string.find(authority, ':', 1, true) then return authority end
  local host, port = string.match(authority, '^(.*):(%d+)$')
  return (port == '80' or port == '443') and host or authority
end

-- The host of a gate: the gates of all its ports share slots and spacing (HTTP H1).
local function host_of_gate(gate)
  if not string.find(gate, ':', 1, true) then return gate end
  if string.find(gate, '^group:') or string.find(gate, '^hub:') then return gate end
  return string.match(gate, '^(.*[^:]):%d+$') or gate
end

-- The gate for requests to a server (HTTP H7): its own, or that of the operator's group of hosts, with a name that no
-- server can have. Also returns the host's overrides, nil where there are none: concurrency, spacing ms, min_interval
-- ms.
local has_overrides
local function gate_of_server(server)
  if has_overrides == nil then has_overrides = redis.call('EXISTS', hosts_key) == 1 end
  local written = has_overrides and redis.pcall('HGET', hosts_key, host_of_gate(server))
  if type(written) ~= 'string' then return server end
  local concurrency, spacing, min_interval, group = string.match(written, '^(%S+) (%S+) (%S+) ?(.*)$')
  return group and group ~= '' and 'group:' .. group or server, tonumber(concurrency), tonumber(spacing),
         tonumber(min_interval)
end
local function gate_of(url) return gate_of_server(server_of(url)) end

-- Whether a served answer leaves nothing to record (note_answer of answers.lua): circuit closed, usual pace, no quota
-- known or reported, no recent failures, and for a document, already known to serve. Also returns whether feeds wait in
-- the host's line.
local function nothing_to_note(key, marks, now)
  local flags, egress, gap = '', '', ''
  if marks ~= '' then flags, egress, gap = string.match(marks, '^(%w*) ?(%S*) ?(%d*)') end
  local gate = redis.pcall('HMGET', key, 'closed', 'slow', 'served_at', 'q:' .. (egress ~= '' and egress or '-'), 'window',
                           'waiting')
  if gate.err or gate[1] or gate[2] or gate[4] or gate[5] or (tonumber(gap) or 0) >= 1000 then return false end
  if flags == '' then return true, gate[6] end
  local served_at = flags == 'd' and tonumber(gate[3] or nil)
  return served_at and now - served_at <= 24 * 3600 * 1000, gate[6]
end
