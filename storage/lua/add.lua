#!lua
-- uses posts host orphans deliver channel requests
-- replies array
-- answers requests
-- Registers feeds and puts them into a channel, which is created if needed. ARGV: prefix, channel ('' = none), first
-- fetches per second of feeds that are not spread ('0' = unlimited; HTTP P12), then repeated: feed_url, first due after
-- ms, settings, '=' and a title ('' = none; it is the channel's own for the feed, '=' removes that; without a channel
-- it is the title of a new feed until it is read), '1' = added only for channels (RELIABILITY L19), '1' = its server
-- asked for the time until it is due.
-- Returns for each feed 1 = new, 0 = known, -1 = being removed: finish that first; it is not put into the channel
-- either.
local now = clock()
local answers, spread_until, due_now, channel, rate = {}, 0, false, ARGV[2], tonumber(ARGV[3])

-- When a new feed is due: the rate spaces first fetches, however many feeds are added, without delaying other feeds.
local function first_due(url, after)
  if after > 0 then return now + after end
  if rate == 0 then return due_among((#ARGV - 3) / 6, url, now) end
  local turn = math.max(tonumber(redis.call('HGET', meta_key, 'next_first')) or 0, now)
  if turn > now + day_ms then turn = now end  -- the clock was set back
  redis.call('HSET', meta_key, 'next_first', string.format('%.3f', turn + 1000 / rate))
  return math.floor(turn)
end

if channel ~= '' then create_channel(channel) end
for i = 4, #ARGV, 6 do
  local url, after, settings, title = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local for_channels, asked = ARGV[i + 4] == '1', ARGV[i + 5] == '1'
  local answer = -1
  if not redis.call('HGET', state_key(url), 'removing') then
    answer = redis.call('SADD', feeds_key, url)
    if answer == 1 then
      redis.pcall('ZADD', by_url_key, 0, url)
      local due = first_due(url, after)
      redis.call('ZADD', schedule_key, text(due), url)
      local reason = asked and 'retry_after' or due > now and 'spread' or 'first'
      redis.call('HSET', state_key(url), 'state', 'new', 'won', reason)
      count_state(url, nil, 'new', now)
      if reason == 'spread' then spread_until = math.max(spread_until, due) end
      if due <= now then due_now = true end
      if settings ~= '' then redis.call('HSET', state_key(url), 'settings', settings) end
      if #title > 1 and channel == '' then redis.call('HSET', feed_key(url), 'title', string.sub(title, 2)) end
      if for_channels then redis.call('HSET', state_key(url), 'for_channels', '1') end
    end
    if not for_channels then
      redis.call('HDEL', state_key(url), 'for_channels')
      note_wanted(url, now)
    end
  end
  if channel ~= '' and answer >= 0 then
    put_into_channel(channel, url)
    if title == '=' then redis.call('HDEL', channel_titles_key(channel), url) end
    if #title > 1 then redis.call('HSET', channel_titles_key(channel), url, string.sub(title, 2)) end
  end
  answers[#answers + 1] = answer
end
if due_now then wake_a_worker() end
if spread_until > (tonumber(redis.call('HGET', meta_key, 'spread_until')) or 0) then
  redis.call('HSET', meta_key, 'spread_until', text(spread_until))
end
return answers
