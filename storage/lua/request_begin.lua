#!lua flags=allow-oom
-- uses posts requests
-- replies array of 1
-- Takes a request in hand, or answers it at once: where its ref was answered before, or where it was in the hands of
-- three workers that came to no end (RELIABILITY Q2, Q4). That one is set aside, with the last hundred of its kind.
-- ARGV: prefix, 8 of the request (asked_at), token, most deaths.
-- Returns {'go', note}, {'gone'} = it was answered or taken out, {'repeated'}, {'reused'} or {'poison'}.
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
  asked.ref = ''  -- what is remembered stays
  settle(asked, 'request_failed',
         '{' .. asked.data .. '"reason":"ref_reused","detail":"this ref was answered before, for other content"}')
  return {'reused'}
end
local token, times, note = hand_of(asked.id)
if token ~= mine then times = (times or 0) + 1 end
if times > most then
  redis.call('XADD', set_aside_key, 'MAXLEN', 100, '*', 'request', asked.id, unpack(record[2]))
  settle(asked, 'request_failed',
         '{' .. asked.data .. '"reason":"poison","detail":"' .. text(most) .. ' workers died of it; it is set aside"}')
  return {'poison'}
end
redis.call('HSET', in_hand_key, asked.id, mine .. ' ' .. text(times) .. ' ' .. (note or ''))
return {'go', note or ''}
