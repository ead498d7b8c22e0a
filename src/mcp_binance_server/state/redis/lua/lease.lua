-- Take or renew a lease.
-- KEYS lease, newest token   ARGV owner, ttl_ms   -> token, or false while another owner holds it
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'owner', 'token', 'ends')
local token = held[2]
if held[1] and tonumber(held[3]) > now then
  if held[1] ~= ARGV[1] then return false end
else
  -- Seeded with time, so that an emptied server does not begin below its earlier tokens.
  token = string.format('%.0f', math.max(tonumber(redis.call('GET', KEYS[2]) or '0') + 1, now))
  redis.call('SET', KEYS[2], token)
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'token', token, 'ends', string.format('%.0f', now + ARGV[2]))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return token
