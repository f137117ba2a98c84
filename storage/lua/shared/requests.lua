-- Stands last in the scripts that answer requests (RELIABILITY Q1–Q4). The stream holds what is asked for. state:requests
-- says of each that is in hand "<token> <times> <note>": who has begun it last, how many workers have, and what a
-- request of several steps has left to be resumed by ('' = nothing). A ref that was answered is remembered as "<content
-- hash> <event type> <data>".
local requests_key, in_hand_key = prefix .. 'stream:requests', prefix .. 'state:requests'
local set_aside_key, requests_lock_key = prefix .. 'state:requests:poison', prefix .. 'lock:requests'
local function ref_key(name) return prefix .. 'state:request:' .. name end

-- Whether no XADD with * makes such an id by now: its time is more than an hour ahead of Redis' clock.
local function is_ahead(id) return tonumber(string.match(id, '^%d+')) > clock() + 3600000 end

-- Deletes the stream if it is empty and its last id is ahead. That one would be above whatever XADD makes from now on,
-- and once there is no higher one XADD fails.
local function renew_if_ahead()
  if redis.call('XLEN', requests_key) > 0 or redis.call('EXISTS', requests_key) == 0 then return end
  local facts = redis.call('XINFO', 'STREAM', requests_key)
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' and is_ahead(facts[i + 1]) then redis.call('DEL', requests_key) end
  end
end

-- What the caller says of a request, as 8 arguments from `first` on (Requests::Asked).
local function asked_at(first)
  local asked = {}
  for i, name in ipairs({'id', 'ref', 'hash', 'keep', 'head', 'data', 'channel_prefix', 'stream_cap'}) do
    asked[name] = ARGV[first + i - 1]
  end
  return asked
end

-- Who has a request in hand, how many have had it, and its note; nil = nobody.
local function hand_of(id)
  local token, times, note = string.match(redis.call('HGET', in_hand_key, id) or '', '^(%S+) (%d+) (.*)$')
  return token, tonumber(times), note
end

-- Answers a request and removes it from the stream. `repeated`: the remembered answer is published again. A request that
-- was called without the stream has no id; its ref is the entity id of the event.
local function settle(asked, kind, data, repeated)
  local now = clock()
  local signal, finish_signals = signal_writer(now, asked.stream_cap, true)
  local shown = asked.id ~= '' and asked.id or string.match(asked.ref, ':(.*)$')
  signal(kind, 'request', '"' .. shown .. '"',
         '"action":"updated","timestamp":' .. text(math.floor(now / 1000)) .. asked.head ..
         (repeated and ',"repeated":true' or '') .. ',"data":' .. data .. '}', asked.channel_prefix .. kind)
  finish_signals()
  if asked.ref ~= '' and not repeated then
    redis.call('SET', ref_key(asked.ref), asked.hash .. ' ' .. kind .. ' ' .. data, 'PX', asked.keep)
  end
  if asked.id == '' then return end
  redis.call('XDEL', requests_key, asked.id)
  redis.call('HDEL', in_hand_key, asked.id)
  if is_ahead(asked.id) then renew_if_ahead() end
end

-- Carries out a step of a request and answers it if that is its end. Without a request (no third key) it is work() alone.
-- Behind the script's own arguments stand 8 that say which request, whose hand it must be in, and what the answers of
-- work() mean, a line each: "<code> done|failed <word> [<name>]" ends it; `name` is what the second value is called in
-- the answer, "=name" the code itself. "<code> begun <note>" is a step on the way. "<code>+" holds once there is a
-- note, "*" for any other code. A code that is not there is no answer: the caller tries again.
local function answered(work)
  if not KEYS[3] then return work() end
  local last = #ARGV
  local asked, mine, outcomes = asked_at(last - 9), ARGV[last - 1], ARGV[last]
  for i = last, last - 9, -1 do ARGV[i] = nil end
  local token, times, note = mine, 0, ''
  if asked.id ~= '' then token, times, note = hand_of(asked.id) end
  if token ~= mine or (asked.id == '' and redis.call('EXISTS', ref_key(asked.ref)) == 1) then
    return redis.error_reply('ANSWERED ' .. asked.id)
  end
  local result = work()
  local code, second = result, nil
  while type(code) == 'table' do
    if code.err then return result end
    code, second = code[1], code[2]
  end
  code = type(code) == 'number' and text(code) or tostring(code)
  local meanings = {}
  for is, meaning in string.gmatch(outcomes, '([^ \n]+) ([^\n]+)') do meanings[is] = meaning end
  local meaning = note ~= '' and meanings[code .. '+'] or meanings[code] or meanings['*']
  local kind, word, name = string.match(meaning or '', '^(%a+) (%S+) ?(%S*)$')
  if kind == 'begun' then
    redis.call('HSET', in_hand_key, asked.id, mine .. ' ' .. text(times) .. ' ' .. word)
  elseif kind then
    local data = asked.data .. (kind == 'done' and '"result":"' or '"reason":"') .. word .. '"'
    if string.sub(name, 1, 1) == '=' then
      data = data .. ',"' .. string.sub(name, 2) .. '":' .. code
    elseif name == 'due' then
      data = data .. ',"due":' .. text(math.floor(tonumber(second) / 1000))
    elseif name ~= '' then
      data = data .. ',"' .. name .. '":' .. cjson.encode(tostring(second))
    end
    settle(asked, 'request_' .. kind, '{' .. data .. '}')
  end
  return result
end
