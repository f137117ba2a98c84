#!lua flags=allow-oom
-- uses posts requests
-- replies array of 1
-- Begins a request, or answers it at once: if its ref was answered before (RELIABILITY Q2), if three workers began it
-- without finishing (Q4), or if its id is ahead of the clock (Q5). The last hundred requests of the latter two kinds
-- are set aside, cut if they have too many or too long values.
-- ARGV: prefix, 8 arguments for the request (asked_at), token, most deaths.
-- Returns {'go', note}, {'gone'} = it was answered or removed, {'repeated'}, {'reused'} or {'poison'}.
local asked, mine, most = asked_at(2), ARGV[10], tonumber(ARGV[11])
local record = redis.call('XRANGE', requests_key, asked.id, asked.id)[1]
if not record then
  redis.call('HDEL', in_hand_key, asked.id)
  return {'gone'}
end
local known = asked.ref ~= '' and redis.call('GET', ref_key(asked.ref))
if known then
  local hash, kind, data = string.match(known, '^(%x+) (%S+) (.*)$')
  if hash == asked.hash then
    settle(asked, kind, data, true)
    return {'repeated'}
  end
  asked.ref = ''  -- the stored answer stays
  settle(asked, 'request_failed',
         '{' .. asked.data .. '"reason":"ref_reused","detail":"this ref was answered before, for other content"}')
  return {'reused'}
end
-- Answers the request with the reason poison, and sets it aside.
local function set_aside(detail)
  local values, size = {}, 0
  for i = 1, math.min(#record[2], 400), 2 do
    local name, value = record[2][i], record[2][i + 1]
    size = size + #name + #value
    if size > 524288 then break end
    values[#values + 1], values[#values + 2] = name, value
  end
  redis.call('XADD', set_aside_key, 'MAXLEN', 100, '*', 'request', asked.id, unpack(values))
  settle(asked, 'request_failed', '{' .. asked.data .. '"reason":"poison","detail":"' .. detail .. '; it is set aside"}')
  return {'poison'}
end

if is_ahead(asked.id) then
  asked.keep = 5000  -- another program may have caused that id: a retry under this ref is executed
  return set_aside("its id is more than an hour ahead of Redis' clock: ask again, and append requests with *")
end
local token, times, note = hand_of(asked.id)
if token ~= mine then times = (times or 0) + 1 end
if times > most then return set_aside(text(most) .. ' workers died of it') end
redis.call('HSET', in_hand_key, asked.id, mine .. ' ' .. text(times) .. ' ' .. (note or ''))
return {'go', note or ''}
