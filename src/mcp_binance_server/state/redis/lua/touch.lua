-- Restart the TTL of a place, if there is one.
-- KEYS pool, memory   ARGV memory, member, ttl_ms   -> {1} | {0} | {-3} another memory
-- KEYS then the parties of the members
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then return {-3} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not ends or tonumber(ends) <= now then return {0} end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[2])
for _, key in ipairs({KEYS[1], KEYS[3]}) do
  if redis.call('PTTL', key) < tonumber(ARGV[3]) then redis.call('PEXPIRE', key, ARGV[3]) end
end
return {1}
