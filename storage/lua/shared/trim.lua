-- Shared by the scripts that write posts or trim them.

-- Size of a stored post in bytes: names and values of all fields except the store's own (entry_bytes of diff.hpp).
local function bytes_of(id)
  local own = {bytes = 1, digest = 1, feed_url = 1, first_seen = 1, guid = 1, last_changed = 1, rev = 1, saved = 1,
               saved_over = 1, timestamp = 1}
  local bytes, fields = 0, redis.call('HGETALL', id)
  for i = 1, #fields, 2 do
    if not own[fields[i]] then bytes = bytes + #fields[i] + #fields[i + 1] end
  end
  return bytes
end

-- The post's share of its feed's byte count.
local function bytes_field(id)
  local bytes = redis.pcall('HGET', id, 'bytes')
  return type(bytes) == 'string' and tonumber(bytes) or 0
end

-- The oldest `most` posts of an index, plus all others from the last one's second, {id, score, id, score, …}. Within
-- one second they are ordered by number, because the index itself has Entry:10 before Entry:9.
local function oldest_posts(sort, most)
  local posts = redis.call('ZRANGE', sort, 0, most - 1, 'WITHSCORES')
  if most > 0 and #posts == 2 * most then
    local count = redis.call('ZCOUNT', sort, '-inf', posts[#posts])
    if count > most then posts = redis.call('ZRANGE', sort, 0, count - 1, 'WITHSCORES') end
  end
  local rows = {}
  for i = 1, #posts, 2 do
    local number = tonumber(string.match(posts[i], '(%d+)$') or 0)
    rows[#rows + 1] = {posts[i], posts[i + 1], tonumber(posts[i + 1]), number}
  end
  table.sort(rows, function(a, b)
    if a[3] ~= b[3] then return a[3] < b[3] end
    return a[4] < b[4]
  end)
  for i, row in ipairs(rows) do posts[2 * i - 1], posts[2 * i] = row[1], row[2] end
  return posts
end

-- Applies retention to a feed's posts (RELIABILITY L7), oldest first, at most 100 per call: removes posts beyond the
-- newest `keep`, older than `oldest` (unix seconds), or beyond `most_bytes` in total, but never the newest for its size
-- (nil = no such limit); and at least the first `passed_over`, so that no post stays that is older than one not
-- created. Each leaves a tombstone and a signal(). Returns how many were removed, and whether more must be.
local function trim(url, url_json, keep, oldest, most_bytes, passed_over, now, signal, published_on)
  local sort, trimmed = sort_key(url), 0
  local count = redis.call('ZCARD', sort)
  if count == 0 or not (oldest or most_bytes or keep and count > keep) then return 0, false end
  local bytes = most_bytes and tonumber(redis.call('HGET', state_key(url), 'bytes') or nil) or 0
  local function must_go(score)
    return trimmed < passed_over or keep and count > keep or oldest and score < oldest or
           most_bytes and bytes > most_bytes and count > 1
  end
  local first = redis.call('ZRANGE', sort, 0, 0, 'WITHSCORES')
  if not must_go(tonumber(first[2])) then return 0, false end
  local posts = oldest_posts(sort, 101)
  for i = 1, #posts, 2 do
    if not must_go(tonumber(posts[i + 1])) then return trimmed, false end
    if trimmed == 100 then return trimmed, true end
    local id = posts[i]
    local guid_json, guid, size = delete_post(url, id)
    if guid then redis.call('ZADD', tombs_key(url), '+inf', guid) end
    local tail = deletion(now, url_json, guid_json, 'trim')
    signal('post_trimmed', 'post', '"' .. id .. '"', tail)
    if published_on then signal('post_deleted', 'post', '"' .. id .. '"', tail, published_on) end
    trimmed, count, bytes = trimmed + 1, count - 1, bytes - size
  end
  return trimmed, false
end
