#!lua flags=no-writes
-- uses posts host
-- replies array
-- The posts of a feed, newest first, with the fields that identify them under other guids (DESIGN §5). Writes nothing.
-- ARGV: prefix, feed_url, most. Returns {id, score, guid, digest, date_published, enclosures, link, summary_text,
-- title} for each.
local posts = {}
local ranked = redis.call('ZRANGE', sort_key(ARGV[2]), 0, tonumber(ARGV[3]) - 1, 'REV', 'WITHSCORES')
for i = 1, #ranked, 2 do
  local fields = redis.call('HMGET', ranked[i], 'guid', 'digest', 'date_published', 'enclosures', 'link', 'summary_text',
                            'title')
  posts[#posts + 1] = {ranked[i], ranked[i + 1], unpack(fields)}
end
return posts
