#!lua
-- uses nothing
-- replies text
-- Gives a topic an address and a title, or removes both (WEBSUB §10). ARGV: prefix, '<kind>:<name>', a fresh token ('' =
-- remove), the hash of the token given or removed, '=' and the title ('=' = none, '' = leave it as it is). Returns the
-- topic's token, '' for none.
local tokens, names = prefix .. 'push_out:topics', prefix .. 'push_out:topic_names'
local titles, by_token = prefix .. 'push_out:topic_titles', prefix .. 'push_out:topic:' .. ARGV[4]
local topic, fresh, title = ARGV[2], ARGV[3], ARGV[5]
if fresh == '' then
  redis.call('HDEL', tokens, topic)
  redis.call('HDEL', titles, topic)
  redis.call('ZREM', names, topic)
  redis.call('DEL', by_token)
  return ''
end
local known = redis.call('HGET', tokens, topic)
if not known then
  redis.call('HSET', tokens, topic, fresh)
  redis.call('ZADD', names, 0, topic)
  redis.call('SET', by_token, topic)
end
if title == '=' then
  redis.call('HDEL', titles, topic)
elseif title ~= '' then
  redis.call('HSET', titles, topic, string.sub(title, 2))
end
return known or fresh
