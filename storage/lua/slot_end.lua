#!lua flags=allow-oom
-- uses posts slots host answers
-- replies integer
-- Ends a slot that slot.lua gave to another partition's claim, and records the host's answer (RELIABILITY L27).
-- ARGV: prefix, feed_url, claim, server, then as in note_answer: is ('none' = it was not asked), cause, retry_at,
-- marks.
-- Returns 1 if this opened or closed the host's circuit breaker.
local url, claim, server, is, cause, retry_at, marks = unpack(ARGV, 2, 8)
local now, name = clock(), (gate_of_server(server))
local event = ''
if is ~= 'none' then
  local _, egress = read_marks(marks)
  event = note_answer(read_host(name, now, egress), url, claim, now, is, cause, tonumber(retry_at), marks)
end
-- Other partitions have their own lines, so this partition's workers rarely check theirs.
if free_slots(claim, name) then wake_a_worker() end
return event ~= '' and 1 or 0
