-- Give a place, or return the wait for the next free one.
-- KEYS pool, memory   ARGV memory, member, ttl_ms, cap   -> {1, count, 0} | {0, count, retry_ms} | {-3} another memory
-- KEYS then the parties of the members   ARGV then a party or '', a channel or ''   -> then the evicted member or ''
local memory = redis.call('HMGET', KEYS[2], 'id', 'settled')
if memory[1] ~= ARGV[1] then return {-3} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function forget(member)
  redis.call('ZREM', KEYS[1], member)
  redis.call('HDEL', KEYS[3], member)
end
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))) do forget(ended) end
-- Return the member to evict, the first to expire of the parties that hold most, at least two more than the asking one.
local function gives_way()
  if ARGV[5] == '' then return end
  local parties, held, most = {}, {[ARGV[5]] = 0}, 0
  local named = redis.call('HGETALL', KEYS[3])
  for position = 1, #named, 2 do
    local party = named[position + 1]
    parties[named[position]] = party
    held[party] = (held[party] or 0) + 1
    most = math.max(most, held[party])
  end
  if held[ARGV[5]] + 2 > most then return end
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    if parties[member] and held[parties[member]] == most then return member end
  end
end
local count, gone = redis.call('ZCARD', KEYS[1]), ''
if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then
  -- The members of a lost memory come back first.
  local unsettled = tonumber(memory[2] or '0') - now
  if unsettled > 0 then return {0, count, unsettled, ''} end
  if count >= tonumber(ARGV[4]) then
    gone = gives_way()
    if not gone then
      local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
      return {0, count, first[2] and first[2] - now or tonumber(ARGV[3]), ''}
    end
    forget(gone)
    if ARGV[6] ~= '' then redis.call('PUBLISH', ARGV[6], gone) end
  else
    count = count + 1
  end
  if ARGV[5] ~= '' then redis.call('HSET', KEYS[3], ARGV[2], ARGV[5]) end
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[2])
for _, key in ipairs({KEYS[1], KEYS[3]}) do
  if redis.call('PTTL', key) < tonumber(ARGV[3]) then redis.call('PEXPIRE', key, ARGV[3]) end
end
return {1, count, 0, gone}
