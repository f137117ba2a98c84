#!lua
-- uses nothing
-- replies integer
-- Records that a worker is alive, also for another_primary.lua, and extends its locks (lock.lua).
-- ARGV: prefix, worker, ttl ms, whether it fetches (1/0), then the names and values of its fields.
-- Returns the number of live workers.
local worker, ttl, now = ARGV[2], tonumber(ARGV[3]), clock()
local key, others_key = worker_key(worker), workers_key .. ':other'
local mine = ARGV[4] == '1' and workers_key or others_key
redis.pcall('HSET', prefix .. 'meta:store', 'running', '1')
redis.call('HSET', key, 'alive_at', text(now), unpack(ARGV, 5))
redis.call('PEXPIRE', key, text(ttl), 'NX')
redis.call('PEXPIRE', key, text(ttl), 'GT')  -- a claim's reply may have to be kept longer
for _, name in ipairs({'delivery:000', 'fleet'}) do
  local lock = prefix .. 'lock:' .. name
  if redis.pcall('GET', lock) == worker then redis.call('PEXPIRE', lock, text(ttl), 'GT') end
end
redis.call('ZADD', mine, text(now + ttl), worker)
redis.call('ZREMRANGEBYSCORE', mine, '-inf', text(now))
redis.call('PEXPIRE', mine, text(ttl))
return redis.call('ZCARD', workers_key) + redis.call('ZCOUNT', others_key, text(now), '+inf')
