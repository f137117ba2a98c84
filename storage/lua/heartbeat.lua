#!lua
-- uses nothing
-- replies integer
-- Records that a worker is alive, and extends its locks (lock.lua).
-- ARGV: prefix, worker, ttl ms, then the names and values of its fields. Returns the number of live workers.
local worker, ttl, now = ARGV[2], tonumber(ARGV[3]), clock()
local key = worker_key(worker)
redis.call('HSET', key, 'alive_at', text(now), unpack(ARGV, 4))
redis.call('PEXPIRE', key, text(ttl), 'NX')
redis.call('PEXPIRE', key, text(ttl), 'GT')  -- a claim's reply may have to be kept longer
for _, name in ipairs({'delivery:000', 'fleet'}) do
  local lock = prefix .. 'lock:' .. name
  if redis.pcall('GET', lock) == worker then redis.call('PEXPIRE', lock, text(ttl), 'GT') end
end
redis.call('ZADD', workers_key, text(now + ttl), worker)
redis.call('ZREMRANGEBYSCORE', workers_key, '-inf', text(now))
redis.call('PEXPIRE', workers_key, text(ttl))
return redis.call('ZCARD', workers_key)
