-- Release a lease if this owner still holds it under this token.
-- KEYS lease   ARGV owner, token   -> 1 | 0
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'owner', 'token', 'ends')
if held[1] ~= ARGV[1] or held[2] ~= ARGV[2] or tonumber(held[3]) <= now then return 0 end
return redis.call('DEL', KEYS[1])
