-- Give a place, or say when the next one can free.
-- KEYS pool, memory   ARGV memory, member, ttl_ms, cap   -> {1, count, 0} | {0, count, retry_ms} | {-3} another memory
local memory = redis.call('HMGET', KEYS[2], 'id', 'settled')
if memory[1] ~= ARGV[1] then return {-3} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
local count = redis.call('ZCARD', KEYS[1])
if not redis.call('ZSCORE', KEYS[1], ARGV[2]) then
  -- Those who were inside a lost memory come back first.
  local unsettled = tonumber(memory[2] or '0') - now
  if unsettled > 0 then return {0, count, unsettled} end
  if count >= tonumber(ARGV[4]) then
    local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    return {0, count, first[2] and first[2] - now or tonumber(ARGV[3])}
  end
  count = count + 1
end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return {1, count, 0}
