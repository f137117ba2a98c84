-- Shared by the scripts for subscribers (WEBSUB §10). push_out:subscriber:<id> is a hash:
--   kind, state               webhook or hub; pending, active, suspended
--   url, name, created        where events are sent
--   filter, private, at_once  webhooks: which events, also those of private feeds, concurrent requests
--   secret, old_secret, old_until
--   topic_kind, topic_name, topic_url, lease_end   hub subscribers
--   site                      hub subscribers: the owner of the callback, for counting
--   address                   hub subscribers: where the callback last confirmed
--   want_mode, want_secret, want_lease, want_reason, want_tries   its request until verified
--   cursor                    stream id of the last event that it no longer needs
--   failures, failing_since, last_success, last_error, delivered
--   withheld                  webhooks: matching events of private feeds, which it was not sent
--   claim                     of the worker serving it
-- push_out:due holds when to serve subscribers with pending work; while one is claimed, when the lease ends.
-- push_out:ids holds all, push_out:of:<kind>:<name> those of a topic, push_out:leases when hub subscriptions end.
-- push_out:changes and push_out:gone hold recently written or removed records by a number counted in push_out:number.
-- push_out:sites counts hub subscribers by '<state> <site>'. push_out:begun is the last event for which only some of
-- its subscribers have been made due.
local subscribers_key, due_key, leases_key = prefix .. 'push_out:ids', prefix .. 'push_out:due', prefix .. 'push_out:leases'
local changes_key, gone_subscribers_key = prefix .. 'push_out:changes', prefix .. 'push_out:gone'
-- The subscribers' stream: this partition's, or the merged one, if these keys are in its slot (Keys::of_all).
local events_key = string.match(prefix, '^{(.*stream:signals)}:$') or prefix .. 'stream:signals'
local begun_key = prefix .. 'push_out:begun'
local subscriber_states_key = prefix .. 'stats:push_out:states'
local function subscriber_key(id) return prefix .. 'push_out:subscriber:' .. id end
local function subscribers_of_key(kind, name) return prefix .. 'push_out:of:' .. kind .. ':' .. name end
local most_gone = 10000

local function subscriber_changed(id)
  redis.call('ZADD', changes_key, redis.call('INCR', prefix .. 'push_out:number'), id)
  redis.call('ZREM', gone_subscribers_key, id)
end

local sites_key = prefix .. 'push_out:sites'
local function count_of_site(site, state)
  return tonumber(redis.call('HGET', sites_key, state .. ' ' .. site) or 0)
end

local function turn_site(site, state, by)
  if redis.call('HINCRBY', sites_key, state .. ' ' .. site, by) <= 0 then
    redis.call('HDEL', sites_key, state .. ' ' .. site)
  end
end

-- `site`: of a hub subscriber, nil for a webhook.
local function turn_subscriber(kind, site, from, to)
  if from == to then return end
  if from then redis.call('HINCRBY', subscriber_states_key, kind .. ':' .. from, -1) end
  if to then redis.call('HINCRBY', subscriber_states_key, kind .. ':' .. to, 1) end
  if site and from then turn_site(site, from, -1) end
  if site and to then turn_site(site, to, 1) end
end

-- Returns 1 if it existed.
local function remove_subscriber(id)
  local record = redis.call('HMGET', subscriber_key(id), 'kind', 'state', 'topic_kind', 'topic_name', 'site')
  for _, key in ipairs({subscribers_key, due_key, leases_key, changes_key}) do redis.call('ZREM', key, id) end
  if not record[1] then return 0 end
  if record[3] then redis.call('ZREM', subscribers_of_key(record[3], record[4]), id) end
  redis.call('ZADD', gone_subscribers_key, redis.call('INCR', prefix .. 'push_out:number'), id)
  redis.call('ZREMRANGEBYRANK', gone_subscribers_key, 0, -most_gone - 1)
  redis.call('UNLINK', subscriber_key(id))
  turn_subscriber(record[1], record[5] or nil, record[2])
  return 1
end

-- Makes a subscriber due now unless a worker is serving it, which sees its requests when it settles.
local function subscriber_is_due(id, now)
  local at = tonumber(redis.call('ZSCORE', due_key, id) or nil)
  if at and at > now and redis.call('HGET', subscriber_key(id), 'claim') then return end
  redis.call('ZADD', due_key, text(now), id)
end
