#!lua
-- uses posts orphans deliver channel requests
-- replies array
-- answers requests
-- Creates channels, last in the order. ARGV: prefix, then uids. Returns for each 1 = new, 0 = known.
local answers = {}
for i = 2, #ARGV do answers[#answers + 1] = create_channel(ARGV[i]) end
return answers
