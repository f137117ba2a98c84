#!lua
-- uses deliver push_out
-- replies integer
-- Writes a subscriber. ARGV: prefix, 'add' | 'edit' | 'rotate' | 'resume' | 'ask', id, maximum numbers: in all, of one
-- site, unverified, unverified of one site; how long an old secret signs ms, fields (count, then name, value each).
-- add: a webhook, starting at the end of the stream. ask: the request of a hub subscriber, served next; for an existing
-- one nothing else is changed (WEBSUB U5), and no limits apply. edit: the field `was` holds the settings that are
-- replaced. Returns 1; if nothing was written: 0 unknown id or other settings, 2 too many, 3 too many of that site,
-- 4 too many unverified.
local op, id, most, old_for = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[8])
local fields, given = {}, {}
for i = 10, 9 + 2 * tonumber(ARGV[9]), 2 do
  if ARGV[i] ~= 'was' then fields[#fields + 1], fields[#fields + 2] = ARGV[i], ARGV[i + 1] end
  given[ARGV[i]] = ARGV[i + 1]
end
local key, now = subscriber_key(id), clock()
local record = redis.call('HMGET', key, 'kind', 'state', 'secret', 'site')
local kind, state, site = record[1], record[2], record[4] or nil
if not kind then
  if op ~= 'add' and (op ~= 'ask' or given.want_mode ~= 'subscribe') then return 0 end
  if redis.call('ZCARD', subscribers_key) >= most then return 2 end
  kind, state, site = given.kind, given.state, given.site
  if site then
    local unverified = count_of_site(site, 'pending')
    if unverified + count_of_site(site, 'active') >= tonumber(ARGV[5]) then return 3 end
    local all = tonumber(redis.call('HGET', subscriber_states_key, 'hub:pending') or 0)
    if all >= tonumber(ARGV[6]) or unverified >= tonumber(ARGV[7]) then return 4 end
  end
  local newest = redis.call('XREVRANGE', events_key, '+', '-', 'COUNT', 1)[1]
  local noted = redis.call('HGET', prefix .. 'meta:store', 'last_signal') or '0-0'
  redis.call('HSET', key, 'created', text(now), 'cursor', newest and newest[1] or noted)
  redis.call('ZADD', subscribers_key, 0, id)
  if given.topic_kind then redis.call('ZADD', subscribers_of_key(given.topic_kind, given.topic_name), 0, id) end
  turn_subscriber(kind, site, nil, state)
elseif op == 'add' or (op == 'ask' and state == 'pending' and given.want_mode == 'unsubscribe') then
  return 0
elseif op == 'ask' then
  local wanted = {}
  for name, value in pairs(given) do
    if string.sub(name, 1, 5) == 'want_' then wanted[#wanted + 1], wanted[#wanted + 2] = name, value end
  end
  fields = wanted
elseif kind ~= 'webhook' then
  return 0
end
if op == 'edit' then
  local was = ''
  for _, value in ipairs(redis.call('HMGET', key, 'url', 'name', 'filter', 'private', 'at_once')) do
    was = was .. (value or '') .. '\n'
  end
  if was ~= given.was then return 0 end
end
if op == 'rotate' and record[3] then
  redis.call('HSET', key, 'old_secret', record[3], 'old_until', text(now + old_for))
end
if op == 'resume' and state == 'suspended' then
  redis.call('HSET', key, 'state', 'active')
  redis.call('HDEL', key, 'failures', 'failing_since', 'last_error')
  turn_subscriber(kind, site, state, 'active')
end
if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
subscriber_changed(id)
if op == 'ask' and redis.call('HGET', key, 'failures') then  -- a request does not shorten its back-off
  local due, noted = redis.call('ZSCORE', due_key, id) or 0, redis.call('HGET', key, 'retry_at') or 0
  redis.call('HSET', key, 'retry_at', text(math.max(tonumber(due), tonumber(noted))))
end
if op == 'ask' or op == 'resume' then subscriber_is_due(id, now) end
return 1
