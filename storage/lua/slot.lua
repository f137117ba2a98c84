#!lua
-- uses posts host
-- replies array of 1
-- Takes a slot at a server to which a redirect leads, or only a start if the claim has one there (HTTP H6, P15); it ends
-- with the claim. Or takes a slot for a probe or another partition's claim, at a server with its gate in this partition
-- (RELIABILITY L27); it ends with slot_end.lua, or its lease.
-- ARGV: prefix, feed_url, claim, server, host concurrency, host spacing ms and, after a space, the worker's egress
-- name; '1' = a probe or another partition's claim; the longest time that the slot may block others, ms.
-- Returns {wait ms, code}: 0 = the slot is taken; -1 = the claim was lost.
local most_apart = 5000  -- two requests of one chain
local url, claim, server, elsewhere, longest = ARGV[2], ARGV[3], ARGV[4], ARGV[7] == '1', tonumber(ARGV[8])
local concurrency, spacing, egress = tonumber(ARGV[5]), string.match(ARGV[6], '^(%d+) ?(.*)$')
local now = clock()
local mine = not elsewhere and redis.call('HMGET', state_key(url), 'claim', 'claim_hosts', 'alone')
local lease_end = elsewhere and math.huge or tonumber(redis.call('ZSCORE', schedule_key, url) or nil)
if mine and mine[1] ~= claim or not lease_end then return {-1, ''} end
lease_end = math.min(lease_end, now + longest)

local name, own_concurrency, own_spacing = gate_of_server(server)
concurrency, spacing = own_concurrency or concurrency, own_spacing or tonumber(spacing)
local gate = read_host(name, now, egress, own_spacing ~= nil)
-- A chain that has a slot there waits for the spacing only (HTTP P15): a slow pace must not end it.
local is_there = redis.call('HGET', gate.host.key, 's:' .. claim) and now >= gate.not_before
local opens = is_there and math.min(gate.host.last_start, now) + math.min(spacing, most_apart)
local code
if not is_there then
  code = why_not(gate, now, concurrency, spacing, claim)
elseif now < opens then
  code = 'host_spacing'
end
-- If a worker dies while waiting, the feed has not killed it (SECURITY Q2).
if mine and not is_there then redis.call('HDEL', state_key(url), 'plain') end
if mine and mine[3] then redis.call('HSET', state_key(url), 'alone', code and '0' or '1') end
if is_there then
  if code then return {text(opens - now), code} end
  redis.call('HSET', gate.host.key, 'last_start', text(now))
  return {0, ''}
end
if not code then
  take_slot(gate, claim, now, lease_end, claim, gap_of(gate, spacing))
  write_slots(gate, now)
  if mine then redis.call('HSET', state_key(url), 'claim_hosts', (mine[2] and mine[2] .. ' ' or '') .. server) end
  return {0, ''}
end
-- The end of another running request is unknown: retry soon.
local wait = math.max(gate.not_before - now, opens_at(gate, spacing) - now, 100)
if code == 'host_spacing' then keep_start(gate, claim, now, now + wait) end
return {text(wait), code}
