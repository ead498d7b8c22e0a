-- Count the ttl of a place anew, if there is one.
-- KEYS pool, memory   ARGV memory, member, ttl_ms   -> {1} | {0} | {-3} another memory
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then return {-3} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ends = redis.call('ZSCORE', KEYS[1], ARGV[2])
if not ends or tonumber(ends) <= now then return {0} end
redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[3]), ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return {1}
