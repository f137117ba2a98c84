#!lua
-- uses posts
-- replies text
-- Sets a field of the store's meta unless it has a value: the store's id (WEBSUB U16), or the number of partitions of a
-- deployment, recorded by the first one for all (RELIABILITY L27). ARGV: prefix, field, value. Returns the field's value.
local value = redis.call('HGET', meta_key, ARGV[2])
if not value then
  value = ARGV[3]
  redis.call('HSET', meta_key, ARGV[2], value)
end
return value
