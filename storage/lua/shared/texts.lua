-- Posts beyond a feed's newest ones may have no texts (RELIABILITY L34).

-- Whether a text is UTF-8: other programs may have stored anything, and every consumer must be able to parse events.
local function is_utf8(text)
  for _, sequence in ipairs({'[\194-\223][\128-\191]', '[\224-\239][\128-\191][\128-\191]',
                             '[\240-\244][\128-\191][\128-\191][\128-\191]'}) do
    text = string.gsub(text, sequence, ' ')
  end
  return not string.find(text, '[\128-\255]')
end

-- Drops the texts of a post, reports it as post_mended, and returns by how many bytes the post has become smaller.
-- `shown_up_to`: the largest post to include in the event, bytes; 0 = events include no posts.
local function drop_texts_of(id, url_json, shown_up_to, now, signal)
  local names = {'content', 'summary', 'content_type', 'summary_type'}
  local post = redis.pcall('HMGET', id, 'truncated', 'guid', 'rev', 'timestamp', 'bytes', unpack(names))
  local rev, timestamp, before = tonumber(post[3] or nil), tonumber(post[4] or nil), tonumber(post[5] or nil)
  if not (post[6] or post[7]) or not (post[2] and rev and timestamp and before) then return 0 end
  local dropped, bytes, truncated = {}, before, post[1]
  for i, name in ipairs(names) do
    if post[5 + i] then dropped[#dropped + 1], bytes = name, bytes - #name - #post[5 + i] end
  end
  redis.call('HDEL', id, unpack(dropped))
  if not string.find(' ' .. (truncated or '') .. ' ', ' texts ', 1, true) then
    bytes = bytes + (truncated and #' texts' or #'truncated' + #'texts')
    truncated = truncated and truncated .. ' texts' or 'texts'
    dropped[#dropped + 1] = 'truncated'
  end
  rev = text(rev + 1)
  redis.call('HSET', id, 'truncated', truncated, 'rev', rev, 'bytes', text(bytes))
  local shown = shown_up_to > 0 and ',"post_bytes":' .. text(bytes) or ''
  if bytes <= shown_up_to then
    local elsewhere = {bytes = 1, digest = 1, feed_url = 1, guid = 1, rev = 1}
    local fields, rest = redis.call('HGETALL', id), {}
    for i = 1, #fields, 2 do
      if not elsewhere[fields[i]] then rest[fields[i]] = fields[i + 1] end
    end
    rest = cjson.encode(rest)
    if is_utf8(rest) then shown = ',"post":' .. rest end
  end
  signal('post_mended', 'post', '"' .. id .. '"',
         '"action":"updated","timestamp":' .. text(math.floor(now / 1000)) .. ',"feed_url":' .. url_json .. ',"guid":' ..
         cjson.encode(post[2]) .. ',"rev":' .. rev .. ',"data":{"timestamp":' .. text(timestamp) .. ',"fields":' ..
         cjson.encode(dropped) .. '}' .. shown .. '}')
  return before - bytes
end

-- Drops the texts of posts beyond the `newest` newest: of those in `written`, ids of posts that were created or moved,
-- and, oldest first, of at most 100 others and as many as were written. The state's `texts` is the rank, newest first,
-- from which on no post has texts (absent: unknown).
local function drop_old_texts(url, url_json, newest, written, shown_up_to, now, signal)
  local sort, state = sort_key(url), state_key(url)
  local stored, known = redis.call('ZCARD', sort), tonumber(redis.call('HGET', state, 'texts') or nil)
  local from, saved = math.min((known or stored) + #written, stored), 0
  local function drop(id) saved = saved + drop_texts_of(id, url_json, shown_up_to, now, signal) end
  for _, id in ipairs(written) do
    local rank = redis.call('ZREVRANK', sort, id)
    if rank and rank >= math.max(from, newest) then drop(id) end
  end
  local to = math.max(newest, from - 100 - #written)
  if to < from then
    local ids = redis.call('ZREVRANGE', sort, to, from - 1)
    for i = #ids, 1, -1 do drop(ids[i]) end
  end
  if to ~= known then redis.call('HSET', state, 'texts', text(to)) end
  if saved ~= 0 then redis.call('HINCRBY', state, 'bytes', text(-saved)) end
end
