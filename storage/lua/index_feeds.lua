#!lua
-- uses posts
-- replies array of 2
-- One bounded step of repairing the index of feeds by URL, which older builds do not maintain (RELIABILITY L22): first
-- adds all of `feeds`, then removes URLs that are not feeds.
-- ARGV: prefix, 'in' | 'out', cursor of `feeds` or last URL examined, how many.
-- Returns the next two arguments; 'done' at the end.
local phase, place, count = ARGV[2], ARGV[3], ARGV[4]
if phase == 'in' then
  local step = redis.call('SSCAN', feeds_key, place, 'COUNT', count)
  for _, url in ipairs(step[2]) do redis.call('ZADD', by_url_key, 0, url) end
  if step[1] == '0' then return {'out', ''} end
  return {'in', step[1]}
end
local urls = redis.call('ZRANGE', by_url_key, place == '' and '-' or '(' .. place, '+', 'BYLEX', 'LIMIT', 0, count)
for _, url in ipairs(urls) do
  if redis.call('SISMEMBER', feeds_key, url) == 0 then redis.call('ZREM', by_url_key, url) end
end
if #urls == tonumber(count) then return {'out', urls[#urls]} end
redis.call('HSET', meta_key, 'by_url', '1')
return {'done', ''}
