#!lua
-- uses posts
-- replies text
-- Gives the store an id unless it has one (WEBSUB U16). ARGV: prefix, random id. Returns the store's id.
local id = redis.call('HGET', meta_key, 'id')
if not id then
  id = ARGV[2]
  redis.call('HSET', meta_key, 'id', id)
end
return id
