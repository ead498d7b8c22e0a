-- Store a value, and publish it if a channel is named, only under the newest token.
-- KEYS newest token, value   ARGV token, value, px, channel or ''   -> 1 written | 0 stale | -1 no token: emptied
local newest = redis.call('GET', KEYS[1])
if not newest then return -1 end
if newest ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
if ARGV[4] ~= '' then redis.call('PUBLISH', ARGV[4], ARGV[2]) end
return 1
