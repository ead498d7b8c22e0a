-- Join a production: find its outcome or a stored value, wait for its producer, or become the producer.
-- KEYS value, lock, outcome of the awaited production   ARGV own id, lock_ms, awaited id or ''
-- -> {'landed', outcome} | {'kept', value, ms left} | {'held', id} | {'taken'}
local outcome = ARGV[3] ~= '' and redis.call('GET', KEYS[3])
if outcome then return {'landed', outcome} end
local value = redis.call('GET', KEYS[1])
if value then return {'kept', value, tostring(redis.call('PTTL', KEYS[1]))} end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lock = redis.call('HMGET', KEYS[2], 'id', 'ends')
if lock[1] and tonumber(lock[2]) > now then return {'held', lock[1]} end
redis.call('HSET', KEYS[2], 'id', ARGV[1], 'ends', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return {'taken'}
