#!lua flags=no-writes
-- uses posts host
-- replies array
-- Finds the newest signals of a feed among the newest of all.
-- ARGV: prefix, the feed's URL as JSON text, how many of all to search, how many to find.
-- Returns {id, {field, value, …}} of each, newest first.
local mark, want = '"feed_url":' .. ARGV[2] .. ',', tonumber(ARGV[4])
local found = {}
for _, record in ipairs(redis.call('XREVRANGE', signals_key, '+', '-', 'COUNT', ARGV[3])) do
  if #found == want then break end
  if string.find(record[2][4], mark, 1, true) then found[#found + 1] = record end
end
return found
