#!lua flags=no-writes
-- uses posts host
-- replies array
-- One page of a list of feeds: the schedule, soonest due first, or the feeds in a state, latest first.
-- ARGV: prefix, state of the list ('' = the schedule), place to continue from: score ('' = the start) and how many with
-- that score are done; how many to examine, how many to find; then filters, '' = any: state, text in the URL or in the
-- title (in any case of ASCII letters), host.
-- Returns {total, examined, 1 = end of the list, place to continue from: score, how many with it are done; URLs…}.
local listed, score, behind = ARGV[2], ARGV[3], tonumber(ARGV[4])
local look, want = tonumber(ARGV[5]), tonumber(ARGV[6])
local state, part, host = ARGV[7], ARGV[8], ARGV[9]
local key = listed == '' and schedule_key or in_state_key(listed)

local from = 0
if score ~= '' then
  from = behind + (listed == '' and redis.call('ZCOUNT', key, '-inf', '(' .. score) or
                   redis.call('ZCOUNT', key, '(' .. score, '+inf'))
end
local rows = redis.call(listed == '' and 'ZRANGE' or 'ZREVRANGE', key, from, from + look - 1, 'WITHSCORES')
local total = redis.call('ZCARD', key)

local lower_part = string.lower(part)
local function is_in_title(url)
  local title = redis.pcall('HGET', feed_key(url), 'title')
  return type(title) == 'string' and string.find(string.lower(title), lower_part, 1, true) ~= nil
end

local function is_wanted(url)
  if part ~= '' and not string.find(url, part, 1, true) and not is_in_title(url) then return false end
  if host ~= '' and host_of_gate(server_of(url)) ~= host then return false end
  return state == '' or redis.call('HGET', state_key(url), 'state') == state
end

local found, looked_at = {}, 0
for i = 1, #rows, 2 do
  if #found == want then break end
  looked_at = looked_at + 1
  local at = text(tonumber(rows[i + 1]))
  if at == score then behind = behind + 1 else score, behind = at, 1 end
  if is_wanted(rows[i]) then found[#found + 1] = rows[i] end
end
return {total, looked_at, from + looked_at >= total and 1 or 0, score, behind, unpack(found)}
