#!lua
-- uses posts
-- replies text
-- How many partitions a deployment has, as the first of them notes it for all (RELIABILITY L27).
-- ARGV: prefix of a store that is one alone, how many there are to be. Returns how many there are.
local count = redis.call('HGET', meta_key, 'partitions')
if not count then
  count = ARGV[2]
  redis.call('HSET', meta_key, 'partitions', count)
end
return count
