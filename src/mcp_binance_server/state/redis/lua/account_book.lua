-- Return the state of an account.
-- ARGV then now_ms, since_ms   -> {1 if open, why or '', since, 1 if it allows exits, resumed, {name, used, ...}, {value, ...}}
local now, since = tonumber(ARGV[2]), ARGV[3]
local stop = redis.call('HMGET', STOP, 'why', 'since', 'exits', 'resumed')
local day, used = text(math.floor(now / DAY)) .. ':', {}
local all = redis.call('HGETALL', USED)
for at = 1, #all, 2 do
  if string.sub(all[at], 1, #day) == day then
    used[#used + 1] = string.sub(all[at], #day + 1)
    used[#used + 1] = all[at + 1]
  end
end
local seen, found = {}, {}
local function add(names)
  for _, name in ipairs(names) do
    if not seen[name] then
      seen[name] = true
      found[#found + 1] = {facts_of(name).at, name}
    end
  end
end
add(redis.call('ZRANGE', OPEN, 0, -1))
add(redis.call('ZRANGEBYSCORE', ENDED, since, '+inf'))
add(redis.call('ZRANGEBYSCORE', BEGUN, '(' .. text(now - MINUTE), '+inf'))
table.sort(found, function(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end)
local values = {}
for at, each in ipairs(found) do values[at] = redis.call('HGET', VALUE, each[2]) end
local is_open = redis.call('GET', OPENED) == ARGV[1] and 1 or 0
return {is_open, stop[1] or '', tonumber(stop[2] or '0'), tonumber(stop[3] or '0'), tonumber(stop[4] or '0'), used, values}
