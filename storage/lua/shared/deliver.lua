-- Stands behind the prelude in the scripts of the deliver half, which the hot path of ingest shall not pay for.
local channels_key, gone_key = prefix .. 'channels', prefix .. 'state:channels_gone'
local watchers_key, watch_version_key = prefix .. 'state:watchers', prefix .. 'state:watch_version'
local function channel_order_key(uid) return prefix .. 'channel_sortorder_' .. uid end
local function channel_feeds_key(uid) return prefix .. 'channel:' .. uid .. ':feeds' end
local function channel_read_key(uid) return prefix .. 'channel:' .. uid .. ':read' end
local function timeline_key(uid) return prefix .. 'zchannel:' .. uid .. ':posts' end
local function notice_order_key(user) return prefix .. 'list:notification:user_id:' .. user end
local function notices_key(user) return prefix .. 'hash:notification:user_id:' .. user end
local function watches_key(user) return prefix .. 'state:watches:' .. user end
local function delivered_key(target) return prefix .. 'deliver:' .. target .. ':000' end
local delivery_lock_key = prefix .. 'lock:delivery:000'

-- Whether stream id a stands after b.
local function after(a, b)
  local a_ms, a_n = string.match(a, '^(%d+)-(%d+)$')
  local b_ms, b_n = string.match(b, '^(%d+)-(%d+)$')
  a_ms, b_ms = tonumber(a_ms) or 0, tonumber(b_ms) or 0
  if a_ms ~= b_ms then return a_ms > b_ms end
  return (tonumber(a_n) or 0) > (tonumber(b_n) or 0)
end
