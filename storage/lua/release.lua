#!lua flags=allow-oom
-- uses posts slots
-- replies integer
-- Gives claims back (RELIABILITY L9). ARGV: prefix, due ms ('' = the previous due time), then repeated: feed_url,
-- claim.
-- Returns how many were still held.
local due, now = tonumber(ARGV[2]), clock()
local released = 0
for i = 3, #ARGV, 2 do
  if give_back(ARGV[i], ARGV[i + 1], due, now) then released = released + 1 end
end
return released
