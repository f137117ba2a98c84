#!lua
-- uses posts host push
-- replies array
-- Handles a report that feeds have changed (OPERATIONS §6): a hint, worth one fetch per spacing.
-- ARGV: prefix, spacing ms, then feed_urls. Returns for each when it will be fetched, 0 = not because of this, -1 = no
-- such feed.
local spacing, now, answers = tonumber(ARGV[2]), clock(), {}
for i = 3, #ARGV do
  local known = redis.call('SISMEMBER', feeds_key, ARGV[i]) == 1
  answers[#answers + 1] = known and text(hint(ARGV[i], now, 'ping_tat', spacing, 1, 'ping') or 0) or '-1'
end
return answers
