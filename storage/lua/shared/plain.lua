-- For the scripts of every poll. `plain` in a feed's state means: it is neither paused nor quarantined, and none of the
-- fields below is there, but for `strikes` of a running claim. Then they need not be read: looking for a field that is
-- not there takes a scan of the whole hash. Commits set it; a script that writes one of these fields or states removes
-- it. Without it everything is read, so feeds that an earlier build has stored get it with their next commit.

-- Returns {plain, claim, won}, `won` only if it is asked for; nil if the feed's state is not a hash.
local function read_feed(url, ...)
  local fields = redis.pcall('HMGET', state_key(url), 'plain', 'claim', ...)
  return not fields.err and {plain = fields[1], claim = fields[2] or nil, won = fields[3] or nil} or nil
end

-- Reads the other fields of a feed that is not plain.
local function read_others(url, is)
  local names = {'state', 'alone', 'alone_deaths', 'claim_hosts', 'claim_part', 'fetch_url', 'held', 'line', 'push_claimed',
                 'push_due', 'push_hint', 'push_nets', 'push_wake', 'strikes', 'wake'}
  for i, value in ipairs(redis.call('HMGET', state_key(url), unpack(names))) do is[names[i]] = value or nil end
end

-- Whether a feed is plain once its commit has removed what belongs to its claim, and the hints before it.
local function becomes_plain(is)
  return not (is.fetch_url or is.line or is.push_hint or is.push_nets or is.push_wake or is.state == 'paused' or
              is.state == 'quarantined')
end
