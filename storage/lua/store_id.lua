#!lua
-- uses posts
-- replies text
-- Gives the store an id where it has none (WEBSUB U16). ARGV: prefix, id made at random. Returns the store's.
local id = redis.call('HGET', meta_key, 'id')
if not id then
  id = ARGV[2]
  redis.call('HSET', meta_key, 'id', id)
end
return id
