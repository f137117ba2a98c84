#!lua
-- uses posts deliver
-- replies integer
-- Who delivers this partition (RELIABILITY L14). ARGV: prefix, owner's token, ttl ms (0 = let go).
-- Returns 1 while the token holds the lock, else 0.
local token, ttl = ARGV[2], tonumber(ARGV[3])
local owner = redis.call('GET', delivery_lock_key)
if owner and owner ~= token then return 0 end
if ttl == 0 then
  redis.call('DEL', delivery_lock_key)
  return 0
end
redis.call('SET', delivery_lock_key, token, 'PX', ttl)
return 1
