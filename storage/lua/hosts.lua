#!lua
-- uses posts host
-- replies integer
-- Replaces the operator's settings of hosts (HTTP H7), which gate_of() reads.
-- ARGV: prefix, then host and "concurrency spacing_ms min_interval_ms group" in turn ('-' = as usual, no group = alone).
redis.call('DEL', hosts_key)
for i = 2, #ARGV, 2 do redis.call('HSET', hosts_key, ARGV[i], ARGV[i + 1]) end
return (#ARGV - 1) / 2
