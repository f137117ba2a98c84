#!lua
-- uses posts deliver
-- replies array
-- Creates channels behind those there are. ARGV: prefix, then uids. Returns for each 1 = new, 0 = known.
local answers = {}
for i = 2, #ARGV do
  local uid = ARGV[i]
  answers[#answers + 1] = redis.call('SADD', channels_key, uid)
  if answers[#answers] == 1 then
    redis.call('SET', channel_order_key(uid), redis.call('SCARD', channels_key))
    redis.call('HSET', floors_key, uid, '')
  end
end
return answers
