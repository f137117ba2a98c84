#!lua
-- uses posts
-- replies text
-- Another server serves the store than the last time (RELIABILITY L24). ARGV: prefix, its replication id, '1' when it was a
-- replica before.
-- What the last one had not passed on to it is gone, and may have been seen: numbers of entries and ids of events go on
-- far behind it, wherever the clock of this server stands. A server that was only started again has what it had, and
-- nothing jumps.
-- Returns 'none' (no store), 'same', 'noted' or 'jumped'.
local id, was_replica = ARGV[2], ARGV[3] == '1'
local longest_gap, most_entries = 60000, 1000000  -- ms by which clocks differ; entries of what was not passed on
if redis.call('TYPE', meta_key)['ok'] ~= 'hash' then return 'none' end
local noted = redis.call('HMGET', meta_key, 'primary', 'last_signal', 'signals_from')
if noted[1] == id then return 'same' end
local counted = redis.pcall('GET', counter_key)
if not noted[1] or not was_replica or type(counted) == 'table' then
  redis.call('HSET', meta_key, 'primary', id)
  return 'noted'
end
local now, from = clock(), 0
for i = 2, 3 do from = math.max(from, tonumber(string.match(noted[i] or '', '^%d+')) or 0) end
redis.call('SET', counter_key, text((tonumber(counted or nil) or 0) + most_entries))
redis.call('HSET', meta_key, 'primary', id, 'signals_from', text(math.max(from, now) + longest_gap) .. '-0',
           'failed_over_at', text(now))
redis.call('HINCRBY', meta_key, 'failovers', 1)
return 'jumped'
