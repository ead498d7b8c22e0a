-- Promise a process weight of minutes to come, to spend while this server is away; no weight is promised twice.
-- KEYS promises, memory
-- ARGV memory, process, minute, last minute answered for, minutes ahead, most for all, most for one, keep_ms
-- -> {1, first minute, its weight, weight of the next, ...} | {-3} another memory
-- The promises of a lost memory are unknown: no minute that it can have promised is promised again. The same holds for
-- minutes dropped here; a caller with a clock far ahead makes others wait, but no weight is spent twice.
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then return {-3} end
local own, minute, ahead = 'process:' .. ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local told, kept = {}, redis.call('HGETALL', KEYS[1])
for field = 1, #kept, 2 do told[kept[field]] = kept[field + 1] end
local over = tonumber(told.over or '0')
if told.memory ~= ARGV[1] then
  redis.call('DEL', KEYS[1])
  -- This caller's clock and another's can be on the two sides of an edge.
  told, over = {}, minute + ahead + 1
end
local processes, dropped = 1, over
for field, last in pairs(told) do
  local promised = tonumber(string.match(field, '^minute:(%d+)$'))
  if promised and promised < minute - 1 then
    redis.call('HDEL', KEYS[1], field)
    dropped = math.max(dropped, promised)
  elseif string.sub(field, 1, 8) == 'process:' and field ~= own then
    if tonumber(last) < minute - 1 then redis.call('HDEL', KEYS[1], field) else processes = processes + 1 end
  end
end
over = math.max(over, dropped)
redis.call('HSET', KEYS[1], 'memory', ARGV[1], 'over', over, own, minute)
local share = math.min(tonumber(ARGV[7]), math.floor(ARGV[6] / processes))
local first = math.max(minute, ARGV[4] + 1)
local promises = {1, first}
for each = first, minute + ahead do
  local field, mine = 'minute:' .. each, 0
  if each > over then
    local others = tonumber(told[field] or '0')
    mine = math.max(0, math.min(share, ARGV[6] - others))
    redis.call('HSET', KEYS[1], field, others + mine)
  end
  promises[#promises + 1] = mine
end
redis.call('PEXPIRE', KEYS[1], ARGV[8])
return promises
