-- Lift the stop of an account; stops reported later that began before are ignored.
-- KEYS stop   ARGV now_ms   -> 1
local before = tonumber(redis.call('HGET', KEYS[1], 'resumed') or '0')
redis.call('HDEL', KEYS[1], 'why', 'since', 'exits')
redis.call('HSET', KEYS[1], 'resumed', string.format('%.0f', math.max(before, tonumber(ARGV[1]))))
return 1
