#!lua
-- uses posts deliver requests
-- replies array
-- answers requests
-- Changes a user's notification rules. Each change increments the version, at which delivery reads them again.
-- ARGV: prefix, user, 'add' | 'remove', most rules per user, then rules as text, or ids.
-- Returns for each added rule its id (that of an equal one if there is one, 0 = too many), for each removed 1 or 0.
local user, how, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
local rules, answers = watches_key(user), {}
for i = 5, #ARGV do
  if how == 'remove' then
    answers[#answers + 1] = redis.call('HDEL', rules, ARGV[i])
    redis.call('INCR', watch_version_key)
    if redis.call('EXISTS', rules) == 0 then redis.call('SREM', watchers_key, user) end
  else
    local known, all = nil, redis.call('HGETALL', rules)
    for j = 1, #all, 2 do
      if all[j + 1] == ARGV[i] then known = all[j] end
    end
    if not known and #all / 2 >= most then
      known = '0'
    elseif not known then
      known = text(redis.call('INCR', watch_version_key))
      redis.call('HSET', rules, known, ARGV[i])
      redis.call('SADD', watchers_key, user)
    end
    answers[#answers + 1] = known
  end
end
return answers
