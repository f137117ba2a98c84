#!lua flags=allow-oom
-- uses posts deliver
-- replies integer
-- Removes read marks 7 days after their post was removed. A bounded step. ARGV: prefix, grace ms. Returns how many.
local old = redis.call('ZRANGEBYSCORE', gone_key, '-inf', text(clock() - tonumber(ARGV[2])), 'LIMIT', 0, 500)
for _, mark in ipairs(old) do
  local space = string.find(mark, ' ', 1, true)
  redis.call('ZREM', channel_read_key(string.sub(mark, space + 1)), string.sub(mark, 1, space - 1))
  redis.call('ZREM', gone_key, mark)
end
return #old
