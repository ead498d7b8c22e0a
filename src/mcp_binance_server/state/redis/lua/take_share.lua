-- Give a place of a pool that is divided among parties, or return the wait for the next free one.
-- KEYS pool, memory, the parties of the members
-- ARGV memory, member, ttl_ms, cap, party or '', places reserved for new parties
-- -> {1, count, 0, 0, 0} | {0, count, retry_ms, own, share or 0} | {-3} another memory
local memory = redis.call('HMGET', KEYS[2], 'id', 'settled')
if memory[1] ~= ARGV[1] then return {-3} end
local cap, party, newcomers = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))) do
  redis.call('ZREM', KEYS[1], ended)
  redis.call('HDEL', KEYS[3], ended)
end
local count = redis.call('ZCARD', KEYS[1])

-- The same as state.weight.outgrown: the party's places and guaranteed share, if one more is reserved for others.
local function outgrown()
  local held, total, parties, least = {[party] = 0}, 0, 1, math.max(1, math.floor(newcomers / 2))
  for _, each in ipairs(redis.call('HVALS', KEYS[3])) do
    if not held[each] then parties = parties + 1 end
    held[each] = (held[each] or 0) + 1
    total = total + 1
  end
  local left, own = cap - count, held[party]
  local each = math.floor(math.max(0, left + total) / (parties + 1))
  local share, drawn, unspent = math.max(each, least), 0, 0
  for name, has in pairs(held) do
    if name ~= party then
      drawn = drawn + math.min(least, has)
      unspent = unspent + math.max(0, share - has)
    end
  end
  local kept, is_within = math.max(0, math.min(each, newcomers) - drawn), own + 1 <= share
  if is_within and (own + 1 <= least or 1 <= left - kept) then return nil end
  if left >= 1 + kept + unspent then return nil end
  return own, is_within and least or share
end

if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then
  -- The members of a lost memory come back first.
  local unsettled = tonumber(memory[2] or '0') - now
  if unsettled > 0 then return {0, count, unsettled, 0, 0} end
  local own, share = 0, 0
  if count < cap and party ~= '' then own, share = outgrown() end
  if count >= cap or own and share > 0 then
    local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    return {0, count, first[2] and first[2] - now or tonumber(ARGV[3]), own, share}
  end
  count = count + 1
  if party ~= '' then redis.call('HSET', KEYS[3], ARGV[2], party) end
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[2])
for _, key in ipairs({KEYS[1], KEYS[3]}) do
  if redis.call('PTTL', key) < tonumber(ARGV[3]) then redis.call('PEXPIRE', key, ARGV[3]) end
end
return {1, count, 0, 0, 0}
