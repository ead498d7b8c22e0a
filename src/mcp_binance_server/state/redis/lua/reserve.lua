-- Claim a name and its part of every limit, or change nothing.
-- ARGV then name, value, facts, parts, room or '', alike_ms   -> {verdict, value or why, name, used or since}
local name, value, facts, parts = ARGV[2], ARGV[3], cjson.decode(ARGV[4]), cjson.decode(ARGV[5])
local held = redis.call('HGET', VALUE, name)
if held then return {'held', held, '', 0} end
local refusal = closed(facts)
if refusal then return refusal end
local now = facts.at
for _, part in ipairs(parts) do
  local used
  if part.window == 'day' then used = tonumber(redis.call('HGET', USED, field(facts, part.name)) or '0')
  elseif part.window == 'minute' then used = counted(redis.call('ZRANGEBYSCORE', BEGUN, '(' .. text(now - MINUTE), '+inf'), part.name)
  else used = counted(redis.call('ZRANGE', OPEN, 0, -1), part.name) end
  if part.most and used + part.amount > part.most then return {'full', '', part.name, used} end
end
if ARGV[6] ~= '' then
  local room = cjson.decode(ARGV[6])
  local used = room.held
  local function add(names)
    for _, other in ipairs(names) do
      local its = facts_of(other)
      if its.group == facts.group then used = used + its.worth end
    end
  end
  add(redis.call('ZRANGE', OPEN, 0, -1))
  add(redis.call('ZRANGEBYSCORE', ENDED, text(room.since), '+inf'))
  if used + facts.worth > room.most then return {'full', '', room.name, used} end
end
if facts.alike ~= '' then
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', BEGUN, '(' .. text(now - tonumber(ARGV[7])), '+inf')) do
    if facts_of(other).alike == facts.alike then return {'alike', '', other, 0} end
  end
end
if facts.line ~= '' then
  for _, other in ipairs(redis.call('ZRANGE', OPEN, 0, -1)) do
    local its = facts_of(other)
    if its.line == facts.line and not its.settled then return {'unsettled', '', other, 0} end
  end
end
forget(now)
count(name, value, facts)
return {'claimed', '', '', 0}
