-- Shared by the scripts for pushes (WEBSUB §4–§6). A subscription's hash is websub:callback:<hash of its token>:
--   feed_url, token, topic, hub, hub_url, secret   hub as advertised, and its real URL; no secret: pushes are hints
--   state                     pending, active, retired: whether deliveries are accepted
--   settings                  the feed's when it was retired: how to reach its hub once the feed is gone
--   mode, pending_since       what its hub must verify, while pending; since when
--   lease_end, renew_at
--   ask_at                    when to retry a hub that could not be asked; the lease may end before
--   bad, ends                 deliveries with a bad signature; how often its hub was asked to end it
-- Fields of a feed's state about its subscription:
--   push_state, push_since    pending, unproven, healthy, doubtful, failed, denied; since when
--   push_verified             when its hub accepted it, renewals excluded
--   push_fell                 since when it is failed or denied, kept until healthy: operators have been notified
--   push_token, push_pending  the hashes of its subscription, and of the requested one
--   push_hub, push_note, push_tries, push_denials   last hub asked, why that failed, failures in a row, denials
--   push_at                   last push that was a hint or brought news: written by its commit
--   push_due                  it is due because of a hint: its due time otherwise. Pushes waiting to be written share
--                             one: the last to be written restores it
--   push_nets                 number of these; cleared by a claim for a fetch, which finds their content
--   push_wake                 "<ms> <code>": a hint came while it was claimed; fetch then
--   push_hint                 "<ms> <code>": the first hint not answered by a fetch; a written push is not a hint
--   push_claimed              push_hint, once a claim was handed out for a fetch: that fetch's commit answers it;
--                             giving back the claim makes it push_hint again
--   push_tat, ping_tat        when the hints so far are used up; each one uses up a spacing
--   push_barren               fetches by push in a row without news; written by commit
--   push_again                the next fetch is the second look for the last push (WEBSUB P6); written by commit
-- websub:due holds when to check a feed's subscription, and as "#<hash>" a subscription to end at its hub. A time with
-- half a millisecond is an awaited turn at a hub (websub_turn.lua).
local push_schedule_key, push_states_key = prefix .. 'websub:due', prefix .. 'stats:websub:states'
local function callback_key(hash) return prefix .. 'websub:callback:' .. hash end
local function troubled_key(hub) return prefix .. 'websub:hub:' .. hub end
local pending_ms, overlap_ms = 3600000, 3600000
local net_ms = 60000  -- a push not written by then causes a fetch (WEBSUB P2)
-- The gate for requests to a hub host: separate from the gate of its feeds, which would have to wait.
local function hub_gate(host) return 'hub:' .. host end

-- Changes the state of a feed's subscription, '' = none. Returns 1, at most once a day, if this is the fifth feed of
-- its hub to get into trouble within a day (WEBSUB H3).
local function turn_push(url, from, to, now)
  if from == to then return 0 end
  if from ~= '' then redis.call('HINCRBY', push_states_key, from, -1) end
  if to == '' then
    redis.call('HDEL', state_key(url), 'push_state', 'push_since', 'push_verified', 'push_fell')
    return 0
  end
  redis.call('HINCRBY', push_states_key, to, 1)
  redis.call('HSET', state_key(url), 'push_state', to, 'push_since', text(now))
  if to == 'healthy' then
    redis.call('HDEL', state_key(url), 'push_fell')
  elseif (to == 'failed' or to == 'denied') and not redis.call('HGET', state_key(url), 'push_fell') then
    redis.call('HSET', state_key(url), 'push_fell', text(now))
  end
  local hub = redis.call('HGET', state_key(url), 'push_hub')
  if not hub or (to ~= 'doubtful' and to ~= 'failed') then return 0 end
  local key = troubled_key(hub)
  redis.call('ZADD', key, text(now), url)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', text(now - day_ms))
  redis.call('PEXPIRE', key, text(day_ms))
  if redis.call('ZSCORE', key, 'told') or redis.call('ZCARD', key) < 5 then return 0 end
  redis.call('ZADD', key, text(now), 'told')
  return 1
end

-- When to check a feed's subscription, if `at` would do: while pushes are relied on, not later than the lease ends, as
-- polling must then resume its pace (WEBSUB L2).
local function look_by(url, at)
  local mine = redis.call('HMGET', state_key(url), 'push_state', 'push_token')
  local relied_on = mine[1] == 'unproven' or mine[1] == 'healthy' or mine[1] == 'doubtful'
  local lease_end = relied_on and mine[2] and tonumber(redis.call('HGET', callback_key(mine[2]), 'lease_end') or nil)
  return lease_end and math.min(at, lease_end) or at
end

-- Makes a feed due at `at` because of a hint, unless it is due sooner (RELIABILITY L10); while it is claimed, its
-- commit does that. `net`: not a hint but the safety net for pushed content, removed once that is written. A feed
-- waiting for its host keeps its place: a new one would be later. Returns when it will be fetched (nil = never), and
-- whether this call caused that.
local function due_by(url, now, at, code, net)
  local due, line = due_of(url)
  local is = redis.call('HMGET', state_key(url), 'claim', 'push_wake', 'not_before', 'state', 'push_due', 'push_hint',
                        'held')
  if not due or is[4] == 'quarantined' then return nil, false end
  redis.call('HDEL', state_key(url), 'plain')
  at = math.max(at, tonumber(is[3]) or 0)
  local hinted = is[6] and tonumber(string.match(is[6], '^(%d+)'))
  if not net and not (hinted and hinted <= at) then
    redis.call('HSET', state_key(url), 'push_hint', text(at) .. ' ' .. code)
  end
  if is[1] and due > now then
    local noted = is[2] and tonumber(string.match(is[2], '^(%d+)'))
    if noted and noted <= at then return noted, false end
    redis.call('HSET', state_key(url), 'push_wake', text(at) .. ' ' .. code)
    return at, true
  end
  if line then return math.max(at, next_start_of(line, now)), false end
  if due <= at or (tonumber(is[7] or nil) or math.huge) <= now then return due, false end
  redis.call('ZADD', schedule_key, 'XX', text(at), url)
  if at <= now then wake_a_worker() end
  redis.call('HDEL', state_key(url), 'held')
  redis.call('HSET', state_key(url), 'push_due', is[5] or text(due), 'won', code, 'why', due_input(code, at - now))
  return at, true
end

-- due_by() at most once per `spacing`, after a burst: hints until the next fetch count as one (WEBSUB P6). No hint
-- waits longer than a spacing, even if other fetches answered earlier hints: the meter never exceeds the burst after
-- the planned fetch.
local function hint(url, now, meter, spacing, burst, code)
  local used = math.max(now, tonumber(redis.call('HGET', state_key(url), meter) or nil) or 0)
  local planned = math.min(math.max(now, used - (burst - 1) * spacing), now + spacing)
  local at, moved = due_by(url, now, planned, code)
  if moved then redis.call('HSET', state_key(url), meter, text(math.min(used, planned + (burst - 1) * spacing) + spacing)) end
  return at
end

-- At the end of a refresh: applies hints that arrived during it.
local function after_push(url, now, next_due, wake)
  local at, code = string.match(wake, '^(%d+) (%S+)$')
  local told = tonumber(redis.call('HGET', state_key(url), 'not_before') or nil) or 0
  at = math.max(now, tonumber(at), told)
  if at >= next_due then return next_due end
  redis.call('HSET', state_key(url), 'push_due', text(next_due), 'won', code, 'why', due_input(code, at - now))
  return at
end

-- Retires one of our callback paths: its deliveries are answered as retired for 30 days (WEBSUB §4), and it is ended at
-- its hub.
local function retire(hash, now)
  local key = callback_key(hash)
  local is = redis.call('HMGET', key, 'state', 'feed_url')
  if is[1] == 'pending' then redis.call('DEL', key) end
  if is[1] ~= 'active' then return end
  redis.call('HSET', key, 'state', 'retired', 'settings', redis.call('HGET', state_key(is[2]), 'settings') or '')
  redis.call('PEXPIRE', key, text(30 * day_ms))
  redis.call('ZADD', push_schedule_key, 'NX', text(now), '#' .. hash)
end

-- Ends a feed's subscription for good.
local function leave_hub(url, now)
  local mine = redis.call('HMGET', state_key(url), 'push_state', 'push_token', 'push_pending')
  if mine[2] then retire(mine[2], now) end
  if mine[3] then retire(mine[3], now) end
  turn_push(url, mine[1] or '', '', now)
  redis.call('HDEL', state_key(url), 'push_token', 'push_pending', 'push_hub', 'push_note', 'push_tries', 'push_denials')
  redis.call('ZREM', push_schedule_key, url)
end
