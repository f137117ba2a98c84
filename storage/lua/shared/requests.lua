-- Appended to scripts that answer requests (RELIABILITY Q1–Q4). The stream holds the requests. state:requests has for
-- each one in progress "<token> <times> <note>": the worker that began it last, how many workers have begun it, and the
-- resume note of a request of several steps ('' = none). An answered ref is remembered as "<content hash> <event type>
-- <data>".
local requests_key, in_hand_key = prefix .. 'stream:requests', prefix .. 'state:requests'
local set_aside_key, requests_lock_key = prefix .. 'state:requests:poison', prefix .. 'lock:requests'
local function ref_key(name) return prefix .. 'state:request:' .. name end

-- Whether XADD with * cannot yet generate this id: its time is more than an hour ahead of Redis' clock.
local function is_ahead(id) return tonumber(string.match(id, '^%d+')) > clock() + 3600000 end

-- Deletes the stream if it is empty and its last id is ahead: that id would be above all that XADD generates, and once
-- no higher id is left XADD fails.
local function renew_if_ahead()
  if redis.call('XLEN', requests_key) > 0 or redis.call('EXISTS', requests_key) == 0 then return end
  local facts = redis.call('XINFO', 'STREAM', requests_key)
  for i = 1, #facts, 2 do
    if facts[i] == 'last-generated-id' and is_ahead(facts[i + 1]) then redis.call('DEL', requests_key) end
  end
end

-- The caller's description of a request, in 8 arguments from `first` on (Requests::Asked).
local function asked_at(first)
  local asked = {}
  for i, name in ipairs({'id', 'ref', 'hash', 'keep', 'head', 'data', 'channel_prefix', 'stream_cap'}) do
    asked[name] = ARGV[first + i - 1]
  end
  return asked
end

-- The token of the worker executing a request, how many have begun it, and its note; nil = none.
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

-- Executes a step of a request and answers it if it ends there. Without a request (no third key) this is only work().
-- The script's own arguments are followed by 8 for the request (asked_at), the token that must hold it, and the
-- meanings of work()'s results, one per line. "<code> done|failed <word> [<name>]" ends the request; `name` is the key
-- of the second result in the answer, "=name" that of the code. "<code> begun <note>" is an intermediate step.
-- "<code>+" applies once there is a note, "*" to any other code. Other codes give no answer: the caller retries.
local function answered(work)
  if not KEYS[3] then return work() end
  local last = #ARGV
  local asked, mine, outcomes = asked_at(last - 9), ARGV[last - 1], ARGV[last]
  for i = last, last - 9, -1 do ARGV[i] = nil end
  local token, times, note = mine, 0, ''
  if asked.id ~= '' then token, times, note = hand_of(asked.id) end
  if token ~= mine then return redis.error_reply('ANSWERED ' .. asked.id) end
  if asked.id == '' then  -- called without the stream: it must not overtake a waiting request
    if redis.call('EXISTS', ref_key(asked.ref)) == 1 then return redis.error_reply('ANSWERED ' .. asked.ref) end
    if redis.call('XLEN', requests_key) > 0 then return redis.error_reply('QUEUE ' .. asked.ref) end
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
