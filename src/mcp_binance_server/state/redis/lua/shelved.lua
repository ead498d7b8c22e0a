-- Return a value of a shelf that has not expired.
-- KEYS shelf, ends   ARGV key   -> value | nil
local time = redis.call('TIME')
local ends = redis.call('ZSCORE', KEYS[2], ARGV[1])
if not ends or tonumber(ends) <= time[1] * 1000 + math.floor(time[2] / 1000) then return false end
return redis.call('HGET', KEYS[1], ARGV[1])
