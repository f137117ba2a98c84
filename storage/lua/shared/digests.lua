-- For the scripts that write or check the digests of posts, packed in state:items:<feed_url>: their number in 4 bytes;
-- for each post its number in 6 bytes and the mark of its digest in 10; then the hashes of the last document's items
-- (PackedItems in storage/records/stored_snapshot.hpp). The truth is the field `digest` of each entry: a missing row
-- makes the next look-up read the entry.

local row_bytes = 16

local function mark_of(digest)
  if #digest < 10 then return string.rep('\0', 10 - #digest) .. digest end
  if #digest > 10 and string.sub(digest, 1, 4) == 'cut:' then return '!' .. string.sub(digest, -9) end
  return string.sub(digest, -10)
end

-- The number of an entry as in its row; nil for anything else.
local id_bytes = #entry_key('')
local function packed_number(id)
  local number = tonumber(string.sub(id, id_bytes + 1))
  return number and struct.pack('<I6', number)
end

-- Where the rows of a stored value end; nil if it has none: absent, damaged, or of an older build. Also where its items
-- begin.
local function end_of_rows(value)
  local bytes = #value
  if bytes % row_bytes == 8 then return nil, bytes < 24 and bytes + 1 or 1 end  -- of builds before schema 2
  local last = bytes >= 4 and 4 + row_bytes * struct.unpack('<I4', value)
  local items = last and bytes - last
  if not last or items ~= 0 and (items < 24 or items % row_bytes ~= 8) then return nil, bytes + 1 end
  return last, last + 1
end

-- Where the row of a packed number begins in a value; nil if there is none.
local function place_of(value, number, last)
  local at = string.find(value, number, 5, true)
  while at and at % row_bytes ~= 5 do at = string.find(value, number, at + 1, true) end
  return at and at < last and at
end

-- Rows of all posts, from their entries, after an empty piece for the head.
local function rows_of_posts(url)
  local rows = {''}
  for _, id in ipairs(redis.call('ZRANGE', sort_key(url), 0, -1)) do
    local number, digest = packed_number(id), redis.pcall('HGET', id, 'digest')
    if number and type(digest) == 'string' then rows[#rows + 1] = number .. mark_of(digest) end
  end
  return rows
end

-- Whether digest_changes has all posts of the feed.
local function all_are_new(url)
  local written = 0
  for _, digest in pairs(digest_changes) do
    if digest ~= '' then written = written + 1 end
  end
  return redis.call('ZCARD', sort_key(url)) == written
end

-- The rows of a value with digest_changes, in pieces, after an empty one for the head.
local function changed_rows(value, last)
  local pieces, holes = {''}, {}
  for id, digest in pairs(digest_changes) do
    local number = packed_number(id)
    local at = number and last and place_of(value, number, last)
    if at then holes[#holes + 1] = at end
    if number and digest ~= '' then pieces[#pieces + 1] = number .. mark_of(digest) end
  end
  table.sort(holes)
  local from = 5
  for _, at in ipairs(holes) do
    pieces[#pieces + 1] = string.sub(value, from, at - 1)
    from = at + row_bytes
  end
  if last then pieces[#pieces + 1] = string.sub(value, from, last) end
  return pieces
end

local function write_items(url, rows, items)
  local bytes = 0
  for _, piece in ipairs(rows) do bytes = bytes + #piece end
  if bytes + #items == 0 then return redis.call('DEL', items_key(url)) end
  rows[1], rows[#rows + 1] = struct.pack('<I4', bytes / row_bytes), items
  redis.call('SET', items_key(url), table.concat(rows))  -- once: what Lua allocates is dear to collect
end

-- Writes digest_changes, after the posts. items: '' = unchanged, '-' = remove them.
local function write_digests(url, items)
  if items == '' and next(digest_changes) == nil then return end
  local value = redis.call('GET', items_key(url)) or ''
  local last, items_at = end_of_rows(value)
  local rows = (last or all_are_new(url)) and changed_rows(value, last) or rows_of_posts(url)
  write_items(url, rows, items == '' and string.sub(value, items_at) or items == '-' and '' or items)
end

-- Writes the digests of all posts, whatever is stored.
local function rebuild_digests(url)
  local value = redis.pcall('GET', items_key(url))
  if type(value) ~= 'string' then value = '' end
  local _, items_at = end_of_rows(value)
  write_items(url, rows_of_posts(url), string.sub(value, items_at))
end
