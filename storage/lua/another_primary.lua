#!lua
-- uses posts
-- replies text
-- Handles a change of the server that holds the store (RELIABILITY L24). ARGV: prefix, this server's replication id,
-- '1' if it was a replica before.
-- Writes that the previous server had not replicated are lost, but may have been seen: entry numbers and event ids
-- continue far beyond them, whatever this server's clock says. A server that was only restarted still has its data and
-- its clock, but for the newest writes if it crashed under a running worker: then entry numbers jump.
-- Returns 'none' (no store), 'same', 'noted' or 'jumped'.
local id, was_replica = ARGV[2], ARGV[3] == '1'
local longest_gap, most_entries = 60000, 1000000  -- maximum clock difference in ms; entries not replicated
if redis.call('TYPE', meta_key)['ok'] ~= 'hash' then return 'none' end
local noted = redis.call('HMGET', meta_key, 'primary', 'last_signal', 'signals_from', 'running')
if noted[1] == id then return 'same' end
local counted = redis.pcall('GET', counter_key)
local function jump() redis.call('SET', counter_key, text((tonumber(counted or nil) or 0) + most_entries)) end
if not noted[1] or not was_replica or type(counted) == 'table' then
  if noted[4] and type(counted) ~= 'table' then jump() end
  redis.call('HSET', meta_key, 'primary', id)
  return 'noted'
end
local now, from = clock(), 0
for i = 2, 3 do from = math.max(from, tonumber(string.match(noted[i] or '', '^%d+')) or 0) end
jump()
redis.call('HSET', meta_key, 'primary', id, 'signals_from', text(math.max(from, now) + longest_gap) .. '-0',
           'failed_over_at', text(now))
redis.call('HINCRBY', meta_key, 'failovers', 1)
return 'jumped'
