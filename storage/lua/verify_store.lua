#!lua flags=no-writes
-- uses posts deliver verify
-- replies array of 1
-- Checks the keys that all feeds share, in bounded steps. Writes nothing.
-- ARGV: prefix, then one of:
--   'types', names               the shared keys, and those of feeds, channels and users with these names. Returns
--                               {findings}
--   'meta', stream cap           meta:store and the stream. Returns {findings}
--   'counter', highest number    Returns {findings}
--   'schedule' | 'quarantine' | 'by_url', cursor, how many   Returns {findings, next cursor ('' = done), URLs to
--                               examine}
--   'members', feed URLs         Returns {findings, '', URLs to examine: registered, and without any state}
--   'states', most feeds to count                    Returns {findings, feeds or '' if there are more, all counts}
local what = ARGV[2]
if what == 'types' then
  local wanted = {{feeds_key, 'set', 'I6'}, {schedule_key, 'zset', 'I6'}, {lines_key, 'zset', 'I6'},
                  {by_url_key, 'zset', 'I6', true}, {quarantine_key, 'zset', 'I14'},
                  {states_key, 'hash', 'statistics'}, {meta_key, 'hash', 'I5'}, {signals_key, 'stream', 'I5'},
                  {counter_key, 'string', 'I2'}, {hosts_key, 'hash', 'I13'}, {channels_key, 'set', 'I4'},
                  {gone_key, 'zset', 'I4'}, {floors_key, 'hash', 'I4'}, {watchers_key, 'set', 'L16'}}
  for i = 3, #ARGV do
    local name = ARGV[i]
    for _, key in ipairs(post_keys(name)) do wanted[#wanted + 1] = {key[1], key[2], 'I13'} end
    for _, key in ipairs({{feed_key(name), 'hash', 'I13'}, {state_key(name), 'hash', 'I13'},
                          {channel_feeds_key(name), 'set', 'I4'}, {channel_read_key(name), 'zset', 'I4'},
                          {timeline_key(name), 'zset', 'I4'}, {index_key(name), 'zset', 'I4'},
                          {watches_key(name), 'hash', 'L16'}}) do
      wanted[#wanted + 1] = key
    end
  end
  for _, key in ipairs(wanted) do
    local found = type_of(key[1])
    if found ~= 'none' and found ~= key[2] then
      local built = key[4] and redis.pcall('HGET', meta_key, 'by_url')
      find(key[3], 'type', '', {key[1]}, 'is a ' .. found .. ', not a ' .. key[2],
           key[4] and {del(key[1]), type(built) == 'string' and hdel(meta_key, 'by_url', built) or nil})  -- it will be
                                                                                                          -- rebuilt
    end
  end
  if redis.call('EXISTS', prefix .. 'none') == 1 then
    find('I13', 'none', '', {prefix .. 'none'}, 'exists but must not (RELIABILITY L4)')
  end
elseif what == 'meta' then
  if redis.call('EXISTS', meta_key, feeds_key, signals_key) == 0 then return {findings} end  -- the store is empty
  local meta = redis.call('HMGET', meta_key, 'schema', 'partitions', 'last_signal')
  local last, newest = meta[3], nil
  if redis.call('EXISTS', signals_key) == 1 then
    local info = redis.call('XINFO', 'STREAM', signals_key)
    for i = 1, #info, 2 do
      if info[i] == 'last-generated-id' then newest = info[i + 1] end
    end
    local most = 2 * tonumber(ARGV[3]) + 500
    if redis.call('XLEN', signals_key) > most then
      find('I12', 'stream.long', '', {signals_key}, redis.call('XLEN', signals_key) .. ' records, more than twice signals.max_len',
           {{'xtrim', signals_key, '', false, text(2 * tonumber(ARGV[3]))}})
    end
  end
  if not whole(meta[1]) then
    find('I5', 'meta.schema', '', {meta_key}, 'schema is ' .. shown(meta[1]),
         {hset(meta_key, 'schema', meta[1], '2'), hset(meta_key, 'migrating', redis.call('HGET', meta_key, 'migrating'), '1')})
  end
  if not whole(meta[2]) then
    find('I5', 'meta.partitions', '', {meta_key}, 'partitions is ' .. shown(meta[2]), {hset(meta_key, 'partitions', meta[2], '1')})
  end
  if newest and newest ~= '0-0' and after(newest, last or '0-0') then
    find('I5', 'meta.last_signal', '', {meta_key, signals_key}, 'last_signal is ' .. shown(last) .. ', the newest record ' .. newest,
         {hset(meta_key, 'last_signal', last, newest)})
  elseif last and not string.match(last, '^%d+%-%d+$') then
    find('I5', 'meta.last_signal', '', {meta_key, signals_key}, 'last_signal is ' .. shown(last), {hdel(meta_key, 'last_signal', last)})
  elseif last and last ~= '0-0' and (not newest or after(last, newest)) then
    find('I5', 'stream.lost', '', {signals_key, meta_key}, 'last_signal is ' .. last .. ', but the newest record ' .. shown(newest) ..
         ': records are lost')
  end
elseif what == 'counter' then
  local counter = redis.call('GET', counter_key)
  if ARGV[3] ~= '0' and (whole(counter) or 0) < tonumber(ARGV[3]) then
    find('I2', 'counter', '', {counter_key}, 'is ' .. shown(counter) .. ', but number ' .. ARGV[3] .. ' has been given out',
         {set(counter_key, counter, ARGV[3])})
  end
elseif what == 'members' then
  local examine = {}
  for i = 3, #ARGV do
    if redis.call('EXISTS', state_key(ARGV[i])) == 0 and redis.call('SISMEMBER', feeds_key, ARGV[i]) == 1 then
      examine[#examine + 1] = ARGV[i]
    end
  end
  return {findings, '', examine}
elseif what == 'states' then
  local feeds = redis.call('SCARD', feeds_key)
  local counts, sum, all = {}, 0, redis.call('HGETALL', states_key)
  for i = 1, #all, 2 do
    counts[all[i]] = all[i + 1]
    sum = sum + (tonumber(all[i + 1]) or 0)
  end
  if feeds > tonumber(ARGV[3]) then
    if sum ~= feeds then
      find('statistics', 'states.sum', '', {states_key, feeds_key}, 'the counts add up to ' .. text(sum) .. ', there are ' .. feeds .. ' feeds')
    end
    return {findings, '', all}
  end
  local real = {}
  for _, url in ipairs(redis.call('SMEMBERS', feeds_key)) do
    local state = redis.pcall('HGET', state_key(url), 'state')
    state = type(state) == 'string' and state or 'new'
    real[state] = (real[state] or 0) + 1
  end
  for state, count in pairs(counts) do real[state] = real[state] or 0 end
  for state, count in pairs(real) do
    if text(count) ~= (counts[state] or '0') then
      find('statistics', 'states.count', '', {states_key}, shown(counts[state]) .. ' feeds are said to be ' .. state .. ', ' .. count .. ' are',
           {hset(states_key, state, counts[state], text(count))})
    end
  end
  return {findings, text(feeds), all}
else
  local keys = {schedule = schedule_key, quarantine = quarantine_key, by_url = by_url_key}
  local key = keys[what]
  local step, examine = redis.call('ZSCAN', key, ARGV[3], 'COUNT', ARGV[4]), {}
  for i = 1, #step[2], 2 do
    local url = step[2][i]
    if redis.call('EXISTS', state_key(url)) == 0 then
      if redis.call('SISMEMBER', feeds_key, url) == 1 then
        if what ~= 'by_url' then examine[#examine + 1] = url end  -- registered feeds are examined anyway
      else
        find(what == 'quarantine' and 'I14' or 'I6', what .. '.stray', url, {key}, 'holds a feed that is not registered',
             {zrem(key, url, redis.call('ZSCORE', key, url))})
      end
    elseif what == 'quarantine' and redis.call('SISMEMBER', feeds_key, url) == 0 then
      examine[#examine + 1] = url
    end
  end
  return {findings, step[1] == '0' and '' or step[1], examine}
end
return {findings}
