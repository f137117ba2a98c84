#!lua
-- uses posts
-- replies array of 1
-- Updates the index of stories from stored posts (RELIABILITY L20); idempotent and independent of order. A post about a
-- page is in two hashes: its number maps to the page's hash, the page's hash to the numbers of all posts about it. Both
-- are split into shards small enough for Redis to keep each as a listpack: a post takes a third of the memory it would
-- take otherwise.
-- ARGV: prefix, then for each post: number, rev as read ('' = it did not exist), page ('' = none).
-- Returns {writes refused by a key of the wrong type}.
local most_of_page, most_of_feed, shards = 50, 2, 4096
local refused = 0

local function posts_key(number) return prefix .. 'channel_same:posts:' .. text(number % shards) end
local function pages_key(page)
  local first, second = string.byte(page, 1, 2)
  return prefix .. 'channel_same:pages:' .. text((first * 256 + second) % shards)
end
local function write(...)
  local done = redis.pcall(...)
  if type(done) == 'table' and done['err'] then refused = refused + 1 end
end
local function read(key, field)
  local value = redis.pcall('HGET', key, field)
  return type(value) == 'string' and value
end

-- The first 8 bytes of a SHA-1: a second page with the same hash is hard to find.
local function hash_of(page)
  local hex = string.sub(redis.sha1hex(page), 1, 16)
  return (string.gsub(hex, '%x%x', function(byte) return string.char(tonumber(byte, 16)) end))
end

local function numbers_of(page)
  local numbers = {}
  for number in string.gmatch(read(pages_key(page), page) or '', '%d+') do numbers[#numbers + 1] = tonumber(number) end
  return numbers
end

local function leave(number, page)
  local left = {}
  for _, other in ipairs(numbers_of(page)) do
    if other ~= number then left[#left + 1] = text(other) end
  end
  if #left > 0 then write('HSET', pages_key(page), page, table.concat(left, ' '))
  else write('HDEL', pages_key(page), page) end
  write('HDEL', posts_key(number), text(number))
end

-- If a feed uses one link for many posts, the two newest suffice to show that.
local function join(number, page, url)
  local of_feed, newer = {}, 0
  local all = numbers_of(page)
  for _, other in ipairs(all) do
    if read(entry_key(text(other)), 'feed_url') == url then
      of_feed[#of_feed + 1] = other
      if other > number then newer = newer + 1 end
    end
  end
  if newer >= most_of_feed then return end
  if #of_feed >= most_of_feed then
    table.sort(of_feed)
    leave(of_feed[1], page)
    all = numbers_of(page)
  end
  if #all >= most_of_page then return end
  all[#all + 1] = number
  for i, other in ipairs(all) do all[i] = text(other) end
  write('HSET', posts_key(number), text(number), page)
  write('HSET', pages_key(page), page, table.concat(all, ' '))
end

for i = 2, #ARGV, 3 do
  local number, rev, page = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
  local mine = redis.pcall('HMGET', entry_key(text(number)), 'rev', 'feed_url')
  -- If it has changed since it was read, another event covers it.
  if not mine.err and (mine[1] or '') == rev then
    local was = read(posts_key(number), text(number))
    local is = rev ~= '' and page ~= '' and mine[2] and hash_of(page)
    if was ~= is then
      if was then leave(number, was) end
      if is then join(number, is, mine[2]) end
    end
  end
end
return {refused}
