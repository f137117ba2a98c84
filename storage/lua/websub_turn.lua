#!lua
-- uses posts host push
-- replies text
-- Takes a turn at a hub; all workers share its turns (WEBSUB S5). It ends with websub_settle, or with its lease. A
-- subscription that has to wait is checked again when its turn comes; another partition's subscription
-- (RELIABILITY L27) is settled in its own partition.
-- ARGV: prefix, host of the hub, member of websub:due, concurrent requests, spacing ms, lease ms, when the member was
-- due: or 'here' if the caller waits itself, and is not to be due then, 'turn' once it has waited.
-- Returns how long to wait in ms, 0 = the turn is taken.
local member, concurrency, spacing, lease = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local came, now = tonumber(ARGV[7]) or 0, clock()
local gate = read_host(hub_gate(ARGV[2]), now)
if not why_not(gate, now, concurrency, spacing, member) then
  take_slot(gate, member, now, now + lease, member, 0)
  write_slots(gate, now)
  return '0'
end
local is_its_turn = ARGV[7] == 'turn' or (came % 1 > 0 and now - came < 10 * spacing)
local apart = gate.host.last_start + spacing * gate.slow
local at
if gate.host.in_flight < concurrency and is_its_turn and now < apart then
  at = apart  -- its turn has come, except for the delay of the one before it
else
  -- In order; at a slow hub, subscriptions that must wait again queue up again, in order.
  gate.tail = math.max(gate.tail, now) + math.max(spacing, 10)
  gate.reserved = true
  write_slots(gate, now)
  at = gate.tail
end
if ARGV[7] == 'here' or ARGV[7] == 'turn' then return text(at - now) end
local look_at = string.sub(member, 1, 1) == '#' and at or look_by(member, at)
redis.call('ZADD', push_schedule_key, 'XX', string.format('%.1f', look_at + 0.5), member)
return text(at - now)
