#!lua
-- uses deliver push_out
-- replies array
-- Writes the results for served subscribers. ARGV: prefix, lease ms, then for each: id, claim, cursor ('' = unchanged),
-- 'hold' | 'idle' | 'later' | 'suspend' | 'remove', delay ms, fields (count, then name, value each; '' removes it).
-- 'want_was' among the fields is not a field but the request that was verified. If the request has changed since, the
-- new one is served next and is not overwritten (WEBSUB U5).
-- Returns 1 for each, or 0 if the claim was lost: then nothing was written.
local lease, now, done = tonumber(ARGV[2]), clock(), {}
local mark, begun = redis.call('GET', delivered_key('push_out')) or '0-0', redis.call('GET', begun_key) or '0-0'
if after(begun, mark) then mark = begun end
local i = 3
while i <= #ARGV do
  local id, claim, cursor, becomes, delay, count = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4]),
                                                   tonumber(ARGV[i + 5])
  local key, fields = subscriber_key(id), i + 6
  i = fields + 2 * count
  local record = redis.call('HMGET', key, 'claim', 'cursor', 'kind', 'state', 'lease_end', 'site')
  if record[1] ~= claim then
    done[#done + 1] = 0
  else
    local anew = false
    for f = fields, i - 1, 2 do
      if ARGV[f] == 'want_was' then
        local want = redis.call('HMGET', key, 'want_mode', 'want_lease', 'want_secret')
        anew = table.concat({want[1] or '', want[2] or '', want[3] or ''}, '\n') ~= ARGV[f + 1]
      end
    end
    for f = fields, i - 1, 2 do
      local name, value = ARGV[f], ARGV[f + 1]
      if name ~= 'want_was' and not (anew and string.sub(name, 1, 5) == 'want_') then
        if value == '' then redis.call('HDEL', key, name) else redis.call('HSET', key, name, value) end
      end
    end
    if anew and becomes ~= 'hold' then becomes, delay = 'later', 0 end
    local now_is = redis.call('HMGET', key, 'state', 'lease_end', 'want_mode')
    turn_subscriber(record[3], record[6] or nil, record[4], now_is[1])
    if now_is[2] and now_is[2] ~= record[5] then redis.call('ZADD', leases_key, now_is[2], id) end
    if cursor ~= '' and after(cursor, record[2] or '') then
      redis.call('HSET', key, 'cursor', cursor)
    else
      cursor = record[2] or '0-0'
    end
    if becomes == 'hold' then
      redis.call('ZADD', due_key, text(now + lease), id)
    elseif becomes == 'remove' then
      remove_subscriber(id)
    else
      redis.call('HDEL', key, 'claim')
      if becomes == 'suspend' then
        redis.call('HSET', key, 'state', 'suspended')
        turn_subscriber(record[3], record[6] or nil, now_is[1], 'suspended')
        redis.call('ZREM', due_key, id)
      elseif now_is[3] and becomes == 'idle' then
        redis.call('ZADD', due_key, text(now), id)
      elseif becomes == 'later' then
        redis.call('ZADD', due_key, text(now + delay), id)
      elseif after(mark, cursor) then
        redis.call('ZADD', due_key, text(now), id)
      else
        redis.call('ZREM', due_key, id)
      end
    end
    done[#done + 1] = 1
  end
end
return done
