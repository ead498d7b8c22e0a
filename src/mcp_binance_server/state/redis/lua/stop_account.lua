-- Stop an account, unless it is stopped or was resumed since. A stop that refuses exits replaces one that allows them.
-- KEYS stop   ARGV why, since_ms, 1 if it allows exits   -> {why, since, allows exits} | {}
local stop = redis.call('HMGET', KEYS[1], 'why', 'since', 'resumed', 'exits')
local is_harder = stop[4] == '1' and ARGV[3] == '0'
if stop[1] and not is_harder then return {stop[1], tonumber(stop[2]), tonumber(stop[4] or '0')} end
if tonumber(ARGV[2]) <= tonumber(stop[3] or '0') then return {} end
redis.call('HSET', KEYS[1], 'why', ARGV[1], 'since', ARGV[2], 'exits', ARGV[3])
return {ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])}
