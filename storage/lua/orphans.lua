#!lua
-- uses posts orphans
-- replies array of 1
-- One bounded step over feeds that have been in no channel for a while (RELIABILITY L19): pauses them, and after the
-- same time again returns them for removal (step 'orphan' of remove.lua). A feed paused by its operator is left alone
-- until resumed. ARGV: prefix, how long ms, channel prefix, stream cap.
-- Returns {how many were examined, feeds to remove …}.
local after, now = tonumber(ARGV[2]), clock()
local due = redis.call('ZRANGEBYSCORE', orphans_key, '-inf', text(now - after), 'LIMIT', 0, 100)
local answer = {#due}
local signal, finish_signals = signal_writer(now, ARGV[4], #due > 0)
for _, url in ipairs(due) do
  local mine = redis.call('HMGET', state_key(url), 'state', 'orphaned')
  if not is_orphan(url) then  -- a build without this index put it into a channel, or removed it
    note_wanted(url, now)
  elseif mine[1] ~= 'paused' then
    pause_feed(url, mine[1] or 'new', now, 'orphaned')
    redis.call('HSET', state_key(url), 'orphaned', text(now))
    redis.call('ZADD', orphans_key, text(now), url)
    local second = math.floor(now / 1000)
    local url_json = cjson.encode(url)
    signal('feed_paused', 'feed', url_json,
           '"action":"updated","timestamp":' .. text(second) .. ',"feed_url":' .. url_json ..
           ',"data":{"why":"orphaned","removal":' .. text(math.floor((now + after) / 1000)) .. '}}',
           ARGV[3] .. 'feed_paused')
  elseif mine[2] then
    answer[#answer + 1] = url
  else
    redis.call('ZREM', orphans_key, url)
  end
end
finish_signals()
return answer
