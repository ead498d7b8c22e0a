-- Stop every call of one address, or extend its stop.
-- KEYS stop   ARGV ms, reason   -> ms left
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local left = math.max(0, tonumber(redis.call('HGET', KEYS[1], 'ends') or '0') - now)
local ms = tonumber(ARGV[1])
if ms <= left then return left end
redis.call('HSET', KEYS[1], 'ends', string.format('%.0f', now + ms), 'reason', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return ms
