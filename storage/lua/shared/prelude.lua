-- Stands before every script: what all of them need. ARGV[1] is the partition's prefix. Keys are named here, in posts.lua,
-- push.lua and deliver.lua, or in the one script that uses them; elsewhere in storage/store/keys.hpp.
local prefix = ARGV[1]
local schedule_key, hosts_key = prefix .. 'schedule', prefix .. 'conf:hosts'
local lines_key = prefix .. 'lines'
local function line_key(gate) return prefix .. 'line:' .. gate end
local function state_key(url) return prefix .. 'state:feed:' .. url end
local function host_key(host) return prefix .. 'state:host:' .. host end
local workers_key = prefix .. 'state:workers'
local function worker_key(worker) return prefix .. 'state:worker:' .. worker end

-- A whole number as text without an exponent: tostring() loses milliseconds. %d takes half the time of %.0f, but cannot
-- write a score that somebody made infinite.
local function text(number)
  return string.format(number > -1e15 and number < 1e15 and '%d' or '%.0f', number)
end

-- Redis' own clock, unix milliseconds.
local function clock()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end

-- A feed has become due, and not by its schedule: one of the workers that wait looks at once (RELIABILITY L10). Nobody may
-- be waiting: one word is enough, and it does not last.
local function wake_a_worker()
  local key = prefix .. 'state:wake'
  if redis.call('EXISTS', key) == 0 then
    redis.call('LPUSH', key, '1')
    redis.call('PEXPIRE', key, '5000')
  end
end

-- Since when a feed is due, and in whose gate's line it waits (HTTP H1; nil: it stands in the schedule). Nothing for one
-- that is in neither.
local function due_of(url)
  local due = tonumber(redis.call('ZSCORE', schedule_key, url) or nil)
  if due then return due end
  local line = redis.pcall('HGET', state_key(url), 'line')
  local since = type(line) == 'string' and redis.pcall('ZSCORE', line_key(line), url)
  if type(since) == 'string' then return tonumber(since), line end
end

-- When the first in a line may start, as far as is known: nobody behind it is sooner.
local function next_start_of(line, now)
  return math.max(now, tonumber(redis.call('ZSCORE', lines_key, line) or nil) or now)
end

-- Takes a feed out of the line of a gate. Who empties a line need not say so: the next claim finds it.
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

-- A feed that is so late is one of a backlog (HTTP P12).
local overdue_ms = 2000

-- The server of a canonical URL: its host, and behind a colon the port where that is neither 80 nor 443.
local function server_of(url)
  local authority = string.match(url, '^%a+://([^/?#]*)') or ''
  local host, port = string.match(authority, '^(.*):(%d+)$')
  return (port == '80' or port == '443') and host or authority
end

-- The host whose slots and spacing a gate shares with the gates of other ports (HTTP H1).
local function host_of_gate(gate)
  if string.find(gate, '^group:') or string.find(gate, '^hub:') then return gate end
  return string.match(gate, '^(.*[^:]):%d+$') or gate
end

-- Whose gate the requests to a server pass (HTTP H7): its own, or that of the group of hosts that the operator made of
-- it, which no server can be named like. Beside it what differs for its host, nil where nothing does: concurrency,
-- spacing ms, min_interval ms.
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

-- Whether a host that served has nothing to be noted of (note_answer of host.lua): its circuit is closed, its pace the
-- usual one, of no quota anything is known or told, no feeds of it have failed of late, and it is known to serve if this
-- was a document. Beside it whether feeds wait in its line.
local function nothing_to_note(key, marks, now)
  local flags, egress, gap = string.match(marks, '^(%w*) ?(%S*) ?(%d*)')
  local gate = redis.pcall('HMGET', key, 'closed', 'slow', 'served_at', 'q:' .. (egress ~= '' and egress or '-'), 'window',
                           'waiting')
  if gate.err or gate[1] or gate[2] or gate[4] or gate[5] or (tonumber(gap) or 0) >= 1000 then return false end
  if flags == '' then return true, gate[6] end
  local served_at = flags == 'd' and tonumber(gate[3] or nil)
  return served_at and now - served_at <= 24 * 3600 * 1000, gate[6]
end
