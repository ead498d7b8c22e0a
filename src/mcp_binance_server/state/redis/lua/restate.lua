-- Restore the places of members of a lost memory.
-- KEYS pool, memory   ARGV memory, then pairs of member and ms left   -> 1 | -3 another memory
-- KEYS then the parties of the members   ARGV after each pair its party, or ''
if redis.call('HGET', KEYS[2], 'id') ~= ARGV[1] then return -3 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local longest = redis.call('PTTL', KEYS[1])
for position = 2, #ARGV, 3 do
  local member, left, party = ARGV[position], ARGV[position + 1], ARGV[position + 2]
  local is_new = redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', now + left), member) == 1
  if is_new and party ~= '' then redis.call('HSET', KEYS[3], member, party) end
  longest = math.max(longest, tonumber(left))
end
for _, key in ipairs({KEYS[1], KEYS[3]}) do redis.call('PEXPIRE', key, string.format('%.0f', longest)) end
return 1
