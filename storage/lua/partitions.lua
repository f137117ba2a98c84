#!lua
-- uses posts
-- replies text
-- The number of partitions of a deployment, recorded by the first one for all (RELIABILITY L27).
-- ARGV: prefix of an unpartitioned store, intended number. Returns the recorded number.
local count = redis.call('HGET', meta_key, 'partitions')
if not count then
  count = ARGV[2]
  redis.call('HSET', meta_key, 'partitions', count)
end
return count
