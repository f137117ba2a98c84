#!lua flags=allow-oom
-- uses posts requests
-- replies array of 1
-- Returns the oldest requests, to the single worker that may take them (RELIABILITY Q3): as many as fit into the byte
-- limit, at least one. A request that is too long, or has too many fields, comes with only short values of op, app and
-- ref.
-- ARGV: prefix, token, ttl ms (0 = release), most bytes together, most bytes of one, most requests (0 = only take the
-- lock), where to start, as in XRANGE.
-- In any case an empty stream with a last id ahead of the clock is deleted first (Q5).
-- Returns {'waiting'} while another worker may, else {'taken', {id, 1 = too long, {field, value …}}…}.
local token, ttl, most_bytes, most_each, most = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
renew_if_ahead()
local owner = redis.call('GET', requests_lock_key)
if owner and owner ~= token then return {'waiting'} end
if ttl == 0 then
  redis.call('DEL', requests_lock_key)
  return {'waiting'}
end
redis.call('SET', requests_lock_key, token, 'PX', ttl)
local answer, bytes, from = {'taken'}, 0, ARGV[7]
local none_behind = '(18446744073709551615-18446744073709551615'  -- which XRANGE rejects
while #answer <= most and bytes < most_bytes and from ~= none_behind do
  local record = redis.call('XRANGE', requests_key, from, '+', 'COUNT', 1)[1]  -- one by one: each may be large
  if not record then break end
  local id, fields, size = record[1], record[2], 0
  for _, word in ipairs(fields) do size = size + #word end
  local too_long = size > most_each or #fields > 400
  if too_long then
    local short = {}
    for i = 1, math.min(#fields, 400), 2 do
      local name = fields[i]
      if (name == 'op' or name == 'app' or name == 'ref') and #fields[i + 1] <= 200 then
        short[#short + 1], short[#short + 2] = name, fields[i + 1]
      end
    end
    fields, size = short, 0
  elseif #answer > 1 and bytes + size > most_bytes then
    break
  end
  bytes = bytes + size
  answer[#answer + 1] = {id, too_long and 1 or 0, fields}
  from = '(' .. id
end
if redis.call('XLEN', requests_key) == 0 then redis.call('DEL', in_hand_key) end  -- for requests deleted manually
return answer
