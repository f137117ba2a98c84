#!lua
-- uses posts host orphans deliver channel requests
-- replies array
-- answers requests
-- Registers feeds and puts them into a channel, which is created where it is not there. ARGV: prefix, channel ('' = none),
-- then feed_url, first due after ms, settings, title ('' = none), '1' = it is wanted for channels alone (RELIABILITY L19), in
-- turn.
-- Returns for each 1 = new, 0 = known, -1 = being removed (finish that first): then it is in no channel either.
local now = clock()
local answers, spread_until, due_now, channel = {}, 0, false, ARGV[2]
if channel ~= '' then create_channel(channel) end
for i = 3, #ARGV, 5 do
  local url, after, settings, title = ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3]
  local for_channels = ARGV[i + 4] == '1'
  local answer = -1
  if not redis.call('HGET', state_key(url), 'removing') then
    answer = redis.call('SADD', feeds_key, url)
    if answer == 1 then
      redis.call('ZADD', schedule_key, text(after > 0 and now + after or due_among((#ARGV - 2) / 5, url, now)), url)
      redis.call('HSET', state_key(url), 'state', 'new', 'won', after > 0 and 'spread' or 'first')
      count_state(url, nil, 'new', now)
      if after > 0 then spread_until = math.max(spread_until, now + after) else due_now = true end
      if settings ~= '' then redis.call('HSET', state_key(url), 'settings', settings) end
      if title ~= '' then redis.call('HSET', feed_key(url), 'title', title) end
      if for_channels then redis.call('HSET', state_key(url), 'for_channels', '1') end
    end
    if not for_channels then
      redis.call('HDEL', state_key(url), 'for_channels')
      note_wanted(url, now)
    end
  end
  if channel ~= '' and answer >= 0 then put_into_channel(channel, url) end
  answers[#answers + 1] = answer
end
if due_now then wake_a_worker() end
if spread_until > (tonumber(redis.call('HGET', meta_key, 'spread_until')) or 0) then
  redis.call('HSET', meta_key, 'spread_until', text(spread_until))
end
return answers
