#!lua
-- uses posts slots host requests
-- replies text
-- answers requests
-- Moves a feed for its operator (HTTP R8): the requested URL changes, no key does. A running refresh finds its claim
-- gone. Answers of the old URL do not apply to the new one: the feed is due now, and failures of a feed never read are
-- forgotten.
-- ARGV: prefix, channel prefix, feed_url, its JSON text, new fetch_url ('' = feed_url again), current URL as the caller
-- knows it, stream cap, the feed's history with this move, URL never to move to automatically ('' = any), signal.
-- Returns unknown, changed (it was moved concurrently), taken (the URL is already a feed) or ok.
local channel_prefix, url, url_json, to, from, stream_cap = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local moves, no_move_to, tail = ARGV[8], ARGV[9], ARGV[10]
local state = state_key(url)
if redis.call('SISMEMBER', feeds_key, url) == 0 then return 'unknown' end
local mine = redis.call('HMGET', state, 'fetch_url', 'validators_url', 'claim', 'claim_hosts', 'push_claimed', 'state', 'before_pause')
if (mine[1] or url) ~= from then return 'changed' end
if to ~= '' and redis.call('SISMEMBER', feeds_key, to) == 1 then return 'taken' end

local now = clock()
local signal, finish_signals = signal_writer(now, stream_cap, true)
-- Validators belong to the URL that sent them (HTTP P3).
redis.call('HSET', state, 'validators_url', mine[2] or from, 'moves', moves)
if to == '' then redis.call('HDEL', state, 'fetch_url') else redis.call('HSET', state, 'fetch_url', to) end
if no_move_to == '' then redis.call('HDEL', state, 'no_move_to') else redis.call('HSET', state, 'no_move_to', no_move_to) end
redis.call('HDEL', state, 'moving', 'claim', 'claim_due', 'claim_part', 'claim_hosts', 'held', 'strikes', 'alone',
           'alone_deaths', 'push_claimed', 'not_before', 'plain')
if mine[5] then redis.call('HSET', state, 'push_hint', mine[5]) end  -- not answered by a fetch
if mine[3] then free_slots(mine[3], gate_of(from), mine[4]) end
if mine[6] == 'never_read' or mine[7] == 'never_read' then  -- the state stays: its failure was reported, its recovery
                                                            -- will be
  redis.call('HDEL', state, 'last', 'last_at', 'last_detail', 'failures')
end
if mine[7] then redis.call('HSET', state, 'paused_due', text(now)) end
if mine[6] ~= 'quarantined' or mine[3] then  -- a feed that kills workers stays in quarantine
  local _, line = due_of(url)
  schedule_at(url, now, line)
  wake_a_worker()
  redis.call('HSET', state, 'won', 'manual', 'why', due_input('manual', 0, 'moved'))
end
signal('feed_moved', 'feed', url_json, tail, channel_prefix .. 'feed_moved')
finish_signals()
return 'ok'
