#!lua
-- A turn at a hub, among all workers (WEBSUB S5). It ends with websub_settle, or with its lease.
-- ARGV: prefix, host of the hub, member of websub:due, requests at once, spacing ms, lease ms.
-- Returns for how long to wait in ms, 0 = the turn is taken.
local member, concurrency, spacing, lease = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local now = clock()
local gate = read_host(hub_gate(ARGV[2]), now)
if not why_not(gate, now, concurrency, spacing) then
  take_slot(gate, member, now, now + lease)
  write_slots(gate, now)
  return '0'
end
-- One after the other, and those that come to a hub which is slow come again behind each other.
gate.tail = math.max(gate.tail, now) + math.max(spacing, 10)
gate.reserved = true
write_slots(gate, now)
return text(gate.tail - now)
