#!lua flags=allow-oom
-- uses posts requests
-- replies integer
-- Releases a request unfinished; not counted as a crash of its worker. ARGV: prefix, id, token.
-- Returns 1 = released, 0 = another worker holds it.
local token, times, note = hand_of(ARGV[2])
if token ~= ARGV[3] then return 0 end
redis.call('HSET', in_hand_key, ARGV[2], '- ' .. text(times - 1) .. ' ' .. note)
return 1
