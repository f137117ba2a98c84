#!lua flags=allow-oom
-- uses posts host
-- replies integer
-- The end of a slot that slot.lua gave to a claim of another partition, and what its host answered (RELIABILITY L27).
-- ARGV: prefix, feed_url, claim, server, then as note_answer has it: is ('none' = it was not asked), cause, retry_at, marks.
-- Returns 1 when the host's circuit breaker was opened or closed by it.
local url, claim, server, is, cause, retry_at, marks = unpack(ARGV, 2, 8)
local now, name = clock(), (gate_of_server(server))
local event = ''
if is ~= 'none' then
  local _, egress = read_marks(marks)
  event = note_answer(read_host(name, now, egress), url, claim, now, is, cause, tonumber(retry_at), marks)
end
-- Whoever asks here has a line of its own: those of this partition look at theirs only now and then.
if free_slots(claim, name) then wake_a_worker() end
return event ~= '' and 1 or 0
