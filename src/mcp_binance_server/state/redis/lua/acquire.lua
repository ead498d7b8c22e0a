-- Charge one call to every minute in which the exchange may count it, or refuse it and change nothing.
-- KEYS stop, memory, the latest minute [, the minute before]
--      with a party, for the call's kind and each kind whose room it can use: the parties of these minutes and one more
-- ARGV memory, blind minute or 0, stop_ms or 0, kind, cost, ceiling, order reserve, private reserve, keep_ms,
--      number of the latest minute, position of the call's own minute, settle_ms, ms between recounts,
--      number of minutes, party or '', then pairs of a kind and its least share
-- -> {1, used} granted | {-1, used, position} no room | {-2, used, ms left} stopped | {-3} another memory
--  | {-4, used, ms} forgotten; ms until a caller can recount, 0: this caller should
--  | {-5, used, position, share, spent} the rest is reserved for other parties
-- The party's request is recorded in any case.
local kind, cost, top = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local reserve = {order = tonumber(ARGV[7]), private = tonumber(ARGV[8])}
reserve.public = top - reserve.order - reserve.private
local minutes, party = tonumber(ARGV[14]), ARGV[15]
local memory = redis.call('HMGET', KEYS[2], 'id', 'blind', 'born')
if memory[1] ~= ARGV[1] then return {-3} end

local spent = {}
for position = 1, minutes do
  local found = redis.call('HMGET', KEYS[2 + position], 'total', 'order', 'private', 'known', 'asked',
    'parties:order', 'parties:private', 'parties:public')
  spent[position] = {
    total = tonumber(found[1] or '0'), order = tonumber(found[2] or '0'), private = tonumber(found[3] or '0'),
    known = found[4], asked = tonumber(found[5] or '0'),
    by = {order = tonumber(found[6] or '0'), private = tonumber(found[7] or '0'), public = tonumber(found[8] or '0')}
  }
end
local own = spent[tonumber(ARGV[11])]

local ends = tonumber(redis.call('HGET', KEYS[1], 'ends') or '0')
if ends > 0 or ARGV[3] ~= '0' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  -- A stop that this memory has forgotten, restored by a process that remembers it.
  if ARGV[3] ~= '0' and now + ARGV[3] > ends then
    ends = now + ARGV[3]
    redis.call('HSET', KEYS[1], 'ends', string.format('%.0f', ends), 'reason', 'told again')
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
  if ends > now then return {-2, own.total, ends - now} end
end

-- The last minute with forgotten weight: this minute and those before are full until the exchange's own count is here.
-- One caller a second should fetch it, the first when the calls on their way at the loss have arrived.
local blind = tonumber(memory[2] or '0')
if tonumber(ARGV[2]) > blind then
  blind = tonumber(ARGV[2])
  redis.call('HSET', KEYS[2], 'blind', ARGV[2])
end

local function parties(place, position) return KEYS[2 + minutes + (place - 1) * (minutes + 1) + position] end
local function least(place) return tonumber(ARGV[15 + 2 * place]) end

local function unused(minute, of) return of == 'public' and 0 or math.max(0, reserve[of] - minute[of]) end

local function room(minute, of)
  local kept = 0
  if of ~= 'order' then kept = unused(minute, 'order') end
  if of == 'public' then kept = kept + unused(minute, 'private') end
  return top - kept - minute.total
end

-- Record the party's request, the earlier minute first. A minute's hash counts fresh parties: not in the minute before.
local function meet(position)
  local book, minute = parties(1, position), KEYS[2 + position]
  if redis.call('HSETNX', book, party, 0) == 0 then return end
  if redis.call('HEXISTS', parties(1, position + 1), party) == 0 then redis.call('HINCRBY', minute, 'fresh:' .. kind, 1) end
  local later = position > 1 and redis.call('HGET', parties(1, position - 1), party)
  if later then
    redis.call('HINCRBY', KEYS[1 + position], 'fresh:' .. kind, -1)
    redis.call('HINCRBY', KEYS[1 + position], 'drawn:' .. kind, -math.min(least(1), later))
  end
  redis.call('PEXPIRE', book, ARGV[9])
  redis.call('PEXPIRE', minute, ARGV[9])
end

-- The same as state.weight.Division.
local function division(place, position)
  local of, book, before = ARGV[14 + 2 * place], parties(place, position), parties(place, position + 1)
  local found, minute = redis.call('HMGET', KEYS[2 + position], 'fresh:' .. of, 'drawn:' .. of), spent[position]
  local total, drawn = minute.by[of], tonumber(found[2] or '0')
  local active = redis.call('HLEN', before) + tonumber(found[1] or '0')
  local was_there, mine = redis.call('HEXISTS', before, party) == 1, redis.call('HGET', book, party)
  local spends = tonumber(mine or '0')
  if not was_there then drawn = drawn - math.min(least(place), spends) end
  local there = room(minute, of) + total
  if of ~= 'order' then there = there + math.min(minute.by.order, math.max(0, minute.order - reserve.order)) end
  if of == 'public' then there = there + math.min(minute.by.private, math.max(0, minute.private - reserve.private)) end
  local whole = math.max(0, math.min(reserve[of], there))
  local each = math.floor(whole / (active + 1))
  local share, others = math.max(each, least(place)), active - ((was_there or mine) and 1 or 0)
  local for_newcomers = math.max(0, math.min(each, math.floor(whole / 10)) - drawn)
  return {
    spent = spends, is_new = not was_there, share = share, for_newcomers = for_newcomers,
    at_least_kept = for_newcomers + math.max(0, others * share - (total - spends)),
    kept = function()
      local unspent, met, listed = 0, 0, redis.call('HGETALL', book)
      for field = 1, #listed, 2 do
        if listed[field] ~= party then
          met = met + 1
          unspent = unspent + math.max(0, share - listed[field + 1])
        end
      end
      return for_newcomers + unspent + (others - met) * share
    end
  }
end

-- Return true if the call leaves the reserves of others, of its own kind and of the kinds whose room it uses.
local function leaves(minute, kept)
  local after, over = {total = minute.total + cost, order = minute.order, private = minute.private}, 0
  if kind ~= 'public' then after[kind] = after[kind] + cost end
  for place, wanted in ipairs(kept) do
    local of = ARGV[14 + 2 * place]
    local left = room(after, of)
    if (place == 1 or over > 0 or left < room(minute, of)) and left < wanted + over then return false end
    -- A shortfall in one reserve is taken from the next kind.
    over = over + math.max(0, wanted - unused(after, of))
  end
  return true
end

-- Return the party's guaranteed and spent weight if the rest is reserved for others, else nil.
local function outgrown(position)
  local minute, mine = spent[position], division(1, position)
  local after = mine.spent + cost
  local is_within = after <= mine.share
  if is_within and (not mine.is_new or after <= least(1) or cost <= room(minute, kind) - mine.for_newcomers) then
    return nil
  end
  local touched, kept = {mine}, {mine.at_least_kept}
  for place = 2, (#ARGV - 15) / 2 do
    touched[place] = division(place, position)
    kept[place] = touched[place].at_least_kept
  end
  if leaves(minute, kept) then
    for place, each in ipairs(touched) do kept[place] = each.kept() end
    if leaves(minute, kept) then return nil end
  end
  return {is_within and mine.is_new and least(1) or mine.share, mine.spent}
end

if party ~= '' then
  for position = minutes, 1, -1 do meet(position) end
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
  if cost > room(minute, kind) then return {-1, minute.total, position} end
  local refused = party ~= '' and outgrown(position)
  if refused then return {-5, minute.total, position, refused[1], refused[2]} end
end
for position = 1, minutes do
  local key = KEYS[2 + position]
  redis.call('HINCRBY', key, 'total', ARGV[5])
  if kind ~= 'public' then redis.call('HINCRBY', key, kind, ARGV[5]) end
  redis.call('PEXPIRE', key, ARGV[9])
  if party ~= '' then
    local after = redis.call('HINCRBY', parties(1, position), party, ARGV[5])
    redis.call('PEXPIRE', parties(1, position), ARGV[9])
    redis.call('HINCRBY', key, 'parties:' .. kind, ARGV[5])
    if redis.call('HEXISTS', parties(1, position + 1), party) == 0 then
      redis.call('HINCRBY', key, 'drawn:' .. kind, math.min(least(1), after) - math.min(least(1), after - cost))
    end
  end
end
return {1, own.total + cost}
