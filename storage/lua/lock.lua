#!lua
-- uses nothing
-- replies integer
-- A lock for work that one worker does at a time: delivery (RELIABILITY L14), fleet-wide tasks (L23), matching events
-- to subscribers. ARGV: prefix, 'delivery:000' | 'fleet' | 'push_out', owner's token, ttl ms (0 = release).
-- Returns 1 while the token holds the lock, else 0.
local key, token, ttl = prefix .. 'lock:' .. ARGV[2], ARGV[3], tonumber(ARGV[4])
local owner = redis.call('GET', key)
if owner and owner ~= token then return 0 end
if ttl == 0 then
  redis.call('DEL', key)
  return 0
end
redis.call('SET', key, token, 'PX', ttl)
return 1
