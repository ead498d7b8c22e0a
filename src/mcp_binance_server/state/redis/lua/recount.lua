-- Count unknown claims, store the state of all of them, and open the account if a token is given.
-- KEYS then newest token   ARGV then token or '', then name, value, facts, news of each
-- -> {1} | {0} stale | {-1} no token
if ARGV[2] ~= '' then
  local newest = redis.call('GET', KEYS[11])
  if not newest then return {-1} end
  if newest ~= ARGV[2] then return {0} end
  redis.call('SET', OPENED, ARGV[1])
end
for at = 3, #ARGV, 4 do
  local name, value = ARGV[at], ARGV[at + 1]
  if redis.call('HEXISTS', FACTS, name) == 0 then count(name, value, cjson.decode(ARGV[at + 2])) end
  tell(name, value, cjson.decode(ARGV[at + 3]))
end
return {1}
