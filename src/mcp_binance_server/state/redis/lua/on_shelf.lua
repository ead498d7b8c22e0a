-- Return the values of a shelf that have not expired.
-- KEYS shelf, ends   -> {key, value, key, value, ...}
local time = redis.call('TIME')
local now = string.format('(%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local found = {}
for _, key in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now, '+inf')) do
  found[#found + 1] = key
  found[#found + 1] = redis.call('HGET', KEYS[1], key)
end
return found
