-- Raise a minute that this memory has forgotten to the exchange's count, and mark it as known.
-- KEYS minute, memory   ARGV memory, used, keep_ms   -> 1 | -3 another memory
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then return -3 end
local total = math.max(tonumber(ARGV[2]), tonumber(redis.call('HGET', KEYS[1], 'total') or '0'))
redis.call('HSET', KEYS[1], 'total', string.format('%.0f', total), 'known', '1')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
