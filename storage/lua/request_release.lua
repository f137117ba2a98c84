#!lua flags=allow-oom
-- uses posts requests
-- replies integer
-- Lays a request down without its end: who had it did not die of it. ARGV: prefix, id, token.
-- Returns 1 = it is nobody's now, 0 = it was in another hand.
local token, times, note = hand_of(ARGV[2])
if token ~= ARGV[3] then return 0 end
redis.call('HSET', in_hand_key, ARGV[2], '- ' .. text(times - 1) .. ' ' .. note)
return 1
