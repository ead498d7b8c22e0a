-- Charge one call to every minute in which the exchange may count it, or refuse it and change nothing.
-- KEYS stop, memory, the latest minute [, the one before]
-- ARGV memory, blind minute or 0, stop_ms or 0, kind, cost, ceiling, order reserve, private reserve, keep_ms,
--      number of the latest minute, position of the call's own minute, settle_ms, ms between recounts
-- -> {1, used} granted | {-1, used, position} no room | {-2, used, ms left} stopped | {-3} another memory
--  | {-4, used, ms} forgotten, somebody may recount in so many ms; 0: this caller should
local kind, cost, top = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local memory = redis.call('HMGET', KEYS[2], 'id', 'blind', 'born')
if memory[1] ~= ARGV[1] then return {-3} end

local spent = {}
for position = 1, #KEYS - 2 do
  local found = redis.call('HMGET', KEYS[2 + position], 'total', 'order', 'private', 'known', 'asked')
  spent[position] = {
    total = tonumber(found[1] or '0'), order = tonumber(found[2] or '0'), private = tonumber(found[3] or '0'),
    known = found[4], asked = tonumber(found[5] or '0')
  }
end
local own = spent[tonumber(ARGV[11])]

local ends = tonumber(redis.call('HGET', KEYS[1], 'ends') or '0')
if ends > 0 or ARGV[3] ~= '0' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- A stop that this memory has forgotten, told again by one who remembers it.
  if ARGV[3] ~= '0' and now + ARGV[3] > ends then
    ends = now + ARGV[3]
    redis.call('HSET', KEYS[1], 'ends', string.format('%.0f', ends), 'reason', 'told again')
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
  if ends > now then return {-2, own.total, ends - now} end
end

-- Of the minutes up to this one the server has forgotten what was spent: until the exchange's own count is here they are
-- full. One caller a second should fetch it, the first when what was on its way at the loss has arrived.
local blind = tonumber(memory[2] or '0')
if tonumber(ARGV[2]) > blind then
  blind = tonumber(ARGV[2])
  redis.call('HSET', KEYS[2], 'blind', ARGV[2])
end

for position, minute in ipairs(spent) do
  if ARGV[10] - (position - 1) <= blind and not minute.known then
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local wait = math.max(0, memory[3] + ARGV[12] - now, minute.asked + ARGV[13] - now)
    if wait == 0 then
      redis.call('HSET', KEYS[2 + position], 'asked', string.format('%.0f', now))
      redis.call('PEXPIRE', KEYS[2 + position], ARGV[9])
    end
    return {-4, math.max(top, minute.total), wait}
  end
  local kept = 0
  if kind ~= 'order' then kept = math.max(0, ARGV[7] - minute.order) end
  if kind == 'public' then kept = kept + math.max(0, ARGV[8] - minute.private) end
  if cost > top - kept - minute.total then return {-1, minute.total, position} end
end
for position = 1, #spent do
  local key = KEYS[2 + position]
  redis.call('HINCRBY', key, 'total', ARGV[5])
  if kind ~= 'public' then redis.call('HINCRBY', key, kind, ARGV[5]) end
  redis.call('PEXPIRE', key, ARGV[9])
end
return {1, own.total + cost}
