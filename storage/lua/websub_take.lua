#!lua
-- uses posts host push
-- replies array of 2
-- Hands out subscriptions to check (WEBSUB §4); other workers see them again after the lease.
-- ARGV: prefix, max, lease ms. Returns {now, when the next is due or 0, then rows: {feed_url, {state…}, hash,
-- {subscription…}, hash of the requested one, {requested one…}, hub in trouble (1/0), when it was due}; feed_url '' =
-- the first hash is a subscription to end at its hub}.
local max, lease, now = tonumber(ARGV[2]), tonumber(ARGV[3]), clock()
local rows = {text(now), '0'}
local due = redis.call('ZRANGEBYSCORE', push_schedule_key, '-inf', text(now), 'WITHSCORES', 'LIMIT', 0, max)
for i = 1, #due, 2 do
  local member = due[i]
  local hash = string.match(member, '^#(.*)$')
  if hash then
    local record = redis.call('HGETALL', callback_key(hash))
    if #record == 0 then
      redis.call('ZREM', push_schedule_key, member)
    else
      rows[#rows + 1] = {'', {}, hash, record, '', {}, 0, due[i + 1]}
    end
  elseif redis.call('SISMEMBER', feeds_key, member) == 0 then
    redis.call('ZREM', push_schedule_key, member)
  else
    local mine = redis.call('HMGET', state_key(member), 'push_token', 'push_pending', 'push_hub')
    local trouble = mine[3] and redis.call('ZSCORE', troubled_key(mine[3]), 'told')
    rows[#rows + 1] = {member, redis.call('HGETALL', state_key(member)),
                       mine[1] or '', mine[1] and redis.call('HGETALL', callback_key(mine[1])) or {},
                       mine[2] or '', mine[2] and redis.call('HGETALL', callback_key(mine[2])) or {},
                       trouble and tonumber(trouble) > now - day_ms and 1 or 0, due[i + 1]}
  end
  redis.call('ZADD', push_schedule_key, 'XX', text(now + lease), member)
end
local next_due = redis.call('ZRANGE', push_schedule_key, 0, 0, 'WITHSCORES')[2]
if next_due then rows[2] = text(math.ceil(tonumber(next_due))) end
return rows
