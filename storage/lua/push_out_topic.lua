#!lua
-- uses nothing
-- replies text
-- Gives a topic an address, or removes it (WEBSUB §10). ARGV: prefix, '<kind>:<name>', a fresh token ('' = remove), the
-- hash of the token given or removed. Returns the topic's token, '' for none.
local tokens, names = prefix .. 'push_out:topics', prefix .. 'push_out:topic_names'
local by_token = prefix .. 'push_out:topic:' .. ARGV[4]
local topic, fresh = ARGV[2], ARGV[3]
if fresh == '' then
  redis.call('HDEL', tokens, topic)
  redis.call('ZREM', names, topic)
  redis.call('DEL', by_token)
  return ''
end
local known = redis.call('HGET', tokens, topic)
if known then return known end
redis.call('HSET', tokens, topic, fresh)
redis.call('ZADD', names, 0, topic)
redis.call('SET', by_token, topic)
return fresh
