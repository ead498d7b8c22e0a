-- Store a value on a shelf; the values that expire first are evicted.
-- KEYS shelf, ends   ARGV key, value, ttl_ms, most_bytes   -> 1
-- The shelf is a hash of values, whose field without a name counts their bytes.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function drop(key)
  redis.call('HINCRBY', KEYS[1], '', 0 - redis.call('HSTRLEN', KEYS[1], key)) -- a unary minus would make "-0" of 0
  redis.call('HDEL', KEYS[1], key)
  redis.call('ZREM', KEYS[2], key)
end
drop(ARGV[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], string.format('%.0f', now + ARGV[3]), ARGV[1])
local bytes = redis.call('HINCRBY', KEYS[1], '', #ARGV[2])
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
while first[1] and (tonumber(first[2]) <= now or bytes > tonumber(ARGV[4])) do
  drop(first[1])
  bytes = tonumber(redis.call('HGET', KEYS[1], ''))
  first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
end
-- Both keys expire together: a value without its expiry time would never be dropped.
local left = math.max(redis.call('PTTL', KEYS[1]), tonumber(ARGV[3]))
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, string.format('%.0f', left)) end
return 1
