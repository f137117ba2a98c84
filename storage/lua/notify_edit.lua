#!lua flags=allow-oom
-- uses posts deliver requests
-- replies integer
-- answers requests
-- Marks notices read or unread, or deletes them. The read flag is at the start of the value (RELIABILITY L16).
-- ARGV: prefix, user, 'read' | 'unread' | 'delete', then ids; none = all. Returns how many changed.
local user, how = ARGV[2], ARGV[3]
local order, values = notice_order_key(user), notices_key(user)
local ids = {unpack(ARGV, 4)}
if #ids == 0 then ids = redis.call('LRANGE', order, 0, -1) end
local read, unread, changed = '{"read":true,', '{"read":false,', 0
local from, to = how == 'read' and unread or read, how == 'read' and read or unread
for _, id in ipairs(ids) do
  if how == 'delete' then
    redis.call('LREM', order, 0, id)
    changed = changed + redis.call('HDEL', values, id)
  else
    local value = redis.call('HGET', values, id)
    if value and string.sub(value, 1, #from) == from then
      redis.call('HSET', values, id, to .. string.sub(value, #from + 1))
      changed = changed + 1
    end
  end
end
return changed
