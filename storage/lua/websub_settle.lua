#!lua
-- uses posts host push
-- replies array of 3
-- Stores the result of checking a subscription. ARGV: prefix, member of websub:due, how, delay ms, hash or '', note,
-- hub_url, hub host to free the turn at or '':
--   sent     its hub was asked, and is at hub_url
--   again    it could not be asked: retry later
--   put_off  it was not asked, for other reasons: retry later
--   refused  its hub refuses: the requested path is removed
--   lost     the lease has ended, or the request was never verified
--   left     it is not needed any longer
--   wait     nothing to do yet
--   turn     waits for its slot at the hub, in another partition: marked as in websub_turn.lua
--   forget   nothing left to do
-- Returns {state before, state after, 1 if its hub is now in trouble}.
local member, how, delay, hash, note, hub_url = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local now = clock()
local function time_text(at) return how == 'turn' and string.format('%.1f', at + 0.5) or text(at) end
if ARGV[8] ~= '' then redis.pcall('HDEL', host_key(hub_gate(ARGV[8])), 's:' .. member) end
if how == 'sent' and redis.call('EXISTS', callback_key(hash)) == 1 then
  redis.call('HSET', callback_key(hash), 'hub_url', hub_url)
elseif (how == 'refused' or how == 'put_off') and redis.call('HGET', callback_key(hash), 'state') == 'pending' then
  redis.call('DEL', callback_key(hash))
end
if string.sub(member, 1, 1) == '#' or redis.call('SISMEMBER', feeds_key, member) == 0 then
  if how == 'forget' or string.sub(member, 1, 1) ~= '#' then
    redis.call('ZREM', push_schedule_key, member)
  elseif how ~= 'sent' then
    redis.call('ZADD', push_schedule_key, 'XX', time_text(now + delay), member)
  end
  if how == 'put_off' and redis.call('EXISTS', callback_key(hash)) == 1 then
    redis.call('HINCRBY', callback_key(hash), 'ends', -1)
  end
  return {'', '', 0}
end

local url = member
local from = redis.call('HGET', state_key(url), 'push_state') or ''
if how == 'left' then
  leave_hub(url, now)
  return {from, '', 0}
end
if how == 'forget' then
  redis.call('ZREM', push_schedule_key, url)
elseif how ~= 'sent' then  -- the request may have been verified in between, and is then not due now
  local at = now + delay
  local mine = redis.call('HGET', state_key(url), 'push_token')
  if mine and how == 'lost' then
    at = math.max(at, tonumber(redis.call('HGET', callback_key(mine), 'ask_at') or nil) or 0)
  elseif mine and how == 'again' and redis.call('EXISTS', callback_key(mine)) == 1 then
    redis.call('HSET', callback_key(mine), 'ask_at', text(at))
  end
  redis.call('ZADD', push_schedule_key, 'XX', time_text(how == 'lost' and at or look_by(url, at)), url)
end
if how ~= 'again' and how ~= 'put_off' and how ~= 'refused' and how ~= 'lost' then return {from, from, 0} end
if hash == '' or redis.call('HGET', state_key(url), 'push_pending') == hash then
  redis.call('HDEL', state_key(url), 'push_pending')
end
if how == 'put_off' then return {from, from, 0} end
redis.call('HINCRBY', state_key(url), 'push_tries', 1)
redis.call('HSET', state_key(url), 'push_note', note)
if how == 'again' then return {from, from, 0} end
local trouble = turn_push(url, from, 'failed', now)
if from == 'healthy' then due_by(url, now, now, 'websub_fallback') end  -- WEBSUB L2: the normal schedule, at once
return {from, 'failed', trouble}
