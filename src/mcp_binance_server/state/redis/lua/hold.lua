-- Extend the lock of a production if it is still held by this producer.
-- KEYS lock   ARGV own id, lock_ms   -> 1 | 0
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'ends', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
