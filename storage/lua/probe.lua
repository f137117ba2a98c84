#!lua flags=no-writes
-- uses posts host
-- replies array
-- Finds the permissions that this user lacks, in advance: a script refused half-way leaves its earlier writes
-- (SECURITY A1). Executes nothing. ARGV: prefix, channel prefix, 'scan' to include the commands needed only to read
-- every key. Returns the permissions to grant: "+xdel", "&request_*".
local any_key, channel = prefix .. 'state:probe', ARGV[2] .. 'post_created'
local keyed = {'DEL', 'EXISTS', 'GET', 'HGETALL', 'HLEN', 'INCR', 'SCARD', 'SMEMBERS', 'TYPE', 'UNLINK', 'XLEN',
               'ZCARD'}
local calls = {
  {'INFO', 'server'}, {'TIME'}, {'PUBLISH', channel, ''}, {'SCRIPT', 'LOAD', ''}, {'EVALSHA', '', '1', any_key},
  {'BLPOP', any_key, '1'}, {'HDEL', any_key, 'f'}, {'HGET', any_key, 'f'}, {'HINCRBY', any_key, 'f', '1'},
  {'HMGET', any_key, 'f'},
  {'HSET', any_key, 'f', 'v'}, {'LPUSH', any_key, 'v'}, {'LRANGE', any_key, '0', '0'}, {'LREM', any_key, '1', 'v'},
  {'LTRIM', any_key, '0', '0'}, {'PEXPIRE', any_key, '1'}, {'SADD', any_key, 'v'}, {'SET', any_key, 'v'},
  {'SISMEMBER', any_key, 'v'}, {'SREM', any_key, 'v'}, {'SSCAN', any_key, '0'}, {'XACK', any_key, 'g', '1-1'}, {'XADD', any_key, '*', 'f', 'v'},
  {'XDEL', any_key, '1-1'}, {'MEMORY', 'USAGE', any_key},
  {'XGROUP', 'CREATE', any_key, 'g', '0'}, {'XGROUP', 'SETID', any_key, 'g', '0'}, {'XINFO', 'GROUPS', any_key}, {'XPENDING', any_key, 'g'},
  {'XRANGE', any_key, '-', '+'}, {'XREAD', 'STREAMS', any_key, '0'}, {'XREVRANGE', any_key, '+', '-'},
  {'XREADGROUP', 'GROUP', 'g', 'c', 'STREAMS', any_key, '>'}, {'XTRIM', any_key, 'MINID', '0'},
  {'ZADD', any_key, '1', 'v'}, {'ZCOUNT', any_key, '0', '1'}, {'ZRANGE', any_key, '0', '0'}, {'ZINTERCARD', '1', any_key},
  {'ZRANGEBYSCORE', any_key, '0', '1'}, {'ZREM', any_key, 'v'}, {'ZREMRANGEBYRANK', any_key, '0', '0'},
  {'ZREMRANGEBYSCORE', any_key, '0', '1'}, {'ZREVRANGE', any_key, '0', '0'}, {'ZREVRANK', any_key, 'v'}, {'ZSCORE', any_key, 'v'}
}
if ARGV[3] == 'scan' then
  for _, call in ipairs({{'SCAN', '0'}, {'HSCAN', any_key, '0'}, {'ZSCAN', any_key, '0'}}) do calls[#calls + 1] = call end
end
for _, name in ipairs(keyed) do calls[#calls + 1] = {name, any_key} end
local containers, refused = {SCRIPT = true, XGROUP = true, XINFO = true, MEMORY = true}, {}
for _, call in ipairs(calls) do
  if not redis.acl_check_cmd(unpack(call)) then
    refused[#refused + 1] = '+' .. string.lower(containers[call[1]] and call[1] .. '|' .. call[2] or call[1])
  end
end
-- Patterns also cover channels that later versions add.
if redis.acl_check_cmd('PUBLISH', channel, '') then
  for _, came in ipairs({{'request_*', 'request_done'}, {'notifications:*', 'notifications:global'}}) do
    if not redis.acl_check_cmd('PUBLISH', ARGV[2] .. came[2], '') then refused[#refused + 1] = '&' .. ARGV[2] .. came[1] end
  end
end
if redis.acl_check_cmd('HGET', any_key, 'f') and not redis.acl_check_cmd('HGET', prefix .. 'secret:probe', 'f') then
  refused[#refused + 1] = '~' .. prefix .. 'secret:*'
end
if #refused == 0 then redis.call('EXISTS', any_key) end  -- undeclared, as most keys are; some servers abort a script
                                                         -- here
return refused
