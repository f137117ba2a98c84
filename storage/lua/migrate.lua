#!lua flags=allow-oom
-- uses posts digests
-- replies integer
-- One bounded step from schema 1 to 2: the hash <feed_url>:digests becomes rows in state:items:<feed_url>.
-- ARGV: prefix, then one of:
--   'begin'               raises the schema, so that no worker of an older build starts, and sets `migrating` until the
--                         end. Returns how many workers of older builds run: unless 0, nothing was written
--   'feeds', feed URLs…   Returns how many of them are done, at least one
--   'end'
local what = ARGV[2]
if what == 'begin' then
  if redis.call('HGET', meta_key, 'schema') ~= '1' then return 0 end
  local running, now = 0, '(' .. text(clock())
  for _, key in ipairs({workers_key, workers_key .. ':other'}) do
    running = running + redis.call('ZCOUNT', key, now, '+inf')
  end
  if running == 0 then redis.call('HSET', meta_key, 'schema', '2', 'migrating', '1') end
  return running
elseif what == 'end' then
  return redis.call('HDEL', meta_key, 'migrating')
end
local posts = 0
for i = 3, #ARGV do
  local url = ARGV[i]
  local value, old = redis.pcall('GET', items_key(url)), prefix .. url .. ':digests'
  local is_old = redis.call('EXISTS', old) == 1
  if (value or is_old) and not (type(value) == 'string' and end_of_rows(value)) then
    rebuild_digests(url)
    posts = posts + redis.call('ZCARD', sort_key(url))
  end
  if is_old then redis.call('UNLINK', old) end
  if posts >= 1000 then return i - 2 end
end
return #ARGV - 2
