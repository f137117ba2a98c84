#!lua
-- uses posts host
-- replies integer
-- Replaces the operator's settings of hosts (HTTP H7), which gate_of() reads.
-- ARGV: prefix, then repeated: host, "concurrency spacing_ms min_interval_ms group" ('-' = default, no group = alone).
-- Lines of hosts with changed settings are checked again: their feeds may have another gate, or start sooner.
local was, stays, changed, is_changed = {}, {}, {}, {}
local before = redis.pcall('HGETALL', hosts_key)
for i = 1, #before, 2 do was[before[i]] = before[i + 1] end  -- empty if the key is not a hash
for i = 2, #ARGV, 2 do
  stays[ARGV[i]] = true
  if was[ARGV[i]] ~= ARGV[i + 1] then changed[#changed + 1] = ARGV[i] end
end
for host in pairs(was) do
  if not stays[host] then changed[#changed + 1] = host end
end
for _, host in ipairs(changed) do is_changed[host] = true end
local sooner = false
local function look_at(gate) sooner = redis.pcall('ZADD', lines_key, 'XX', 'LT', 'CH', '0', gate) == 1 or sooner end
local function look_anew()
  for _, host in ipairs(changed) do look_at((gate_of_server(host))) end
end

look_anew()
redis.call('DEL', hosts_key)
for i = 2, #ARGV, 2 do redis.call('HSET', hosts_key, ARGV[i], ARGV[i + 1]) end
has_overrides = nil
look_anew()
if #changed > 0 then  -- gates of other ports
  local lines = redis.pcall('ZRANGE', lines_key, 0, -1)
  for _, gate in ipairs(lines.err and {} or lines) do
    local host = host_of_gate(gate)
    if host ~= gate and is_changed[host] then look_at(gate) end
  end
end
if sooner then wake_a_worker() end
return (#ARGV - 1) / 2
