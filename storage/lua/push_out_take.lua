#!lua
-- uses push_out
-- replies array of 2
-- Hands out subscribers with pending work; other workers see them again after the lease.
-- ARGV: prefix, most, lease ms, claim. Returns {now, when the next is due or 0, then for each id, {its record…}}.
local most, lease, now = tonumber(ARGV[2]), tonumber(ARGV[3]), clock()
local rows = {text(now), '0'}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', due_key, '-inf', text(now), 'LIMIT', 0, most)) do
  local record = redis.call('HGETALL', subscriber_key(id))
  if #record == 0 then
    remove_subscriber(id)
  else
    redis.call('HSET', subscriber_key(id), 'claim', ARGV[4])
    redis.call('ZADD', due_key, text(now + lease), id)
    rows[#rows + 1], rows[#rows + 2] = id, record
  end
end
local next_due = redis.call('ZRANGE', due_key, 0, 0, 'WITHSCORES')[2]
if next_due then rows[2] = text(math.ceil(tonumber(next_due))) end
return rows
