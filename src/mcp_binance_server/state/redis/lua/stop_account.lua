-- Stop an account, unless it is stopped or was resumed since.
-- KEYS stop   ARGV why, since_ms   -> {why, since} | {}
local stop = redis.call('HMGET', KEYS[1], 'why', 'since', 'resumed')
if stop[1] then return {stop[1], tonumber(stop[2])} end
if tonumber(ARGV[2]) <= tonumber(stop[3] or '0') then return {} end
redis.call('HSET', KEYS[1], 'why', ARGV[1], 'since', ARGV[2])
return {ARGV[1], tonumber(ARGV[2])}
