-- Take back the places of members that were inside a lost memory.
-- KEYS pool, memory   ARGV memory, then pairs of member and ms left   -> 1 | -3 another memory
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then return -3 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest = redis.call('PTTL', KEYS[1])
for position = 2, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', now + ARGV[position + 1]), ARGV[position])
  longest = math.max(longest, tonumber(ARGV[position + 1]))
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', longest))
return 1
