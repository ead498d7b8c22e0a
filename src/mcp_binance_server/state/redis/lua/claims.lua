-- The claims of an account; each script on claims begins with this.
-- KEYS value, facts, ends, open, begun, ended, used, opened, stop, memory   ARGV memory, ...   -> {-3} another memory
local VALUE, FACTS, ENDS, OPEN, BEGUN, ENDED, USED, OPENED, STOP = unpack(KEYS, 1, 9)
local KEEP, OPEN_KEEP, DAY, MINUTE = 172800000, 7776000000, 86400000, 60000
if redis.call('HGET', KEYS[10], 'id') ~= ARGV[1] then return {-3} end

local function text(number) return string.format('%.0f', number) end
local function facts_of(name)
  local found = redis.call('HGET', FACTS, name)
  return found and cjson.decode(found)
end
-- Return the refusal of a claim or its departure; nil if it is allowed. A claim can pass a stop that allows exits.
local function closed(facts)
  if redis.call('GET', OPENED) ~= ARGV[1] then return {'lost', '', '', 0} end
  local stop = redis.call('HMGET', STOP, 'why', 'since', 'exits')
  local passes = stop[3] == '1' and facts and facts.passes
  if stop[1] and not passes then return {'stopped', stop[1], stop[3] or '0', tonumber(stop[2])} end
end
-- Return how many of these claims a limit counts.
local function counted(names, limit)
  local found = 0
  for _, name in ipairs(names) do
    for _, its in ipairs(facts_of(name).counts or {limit}) do
      if its == limit then found = found + 1 end
    end
  end
  return found
end
-- Store the state of a claim: its value, its end, and its retention.
local function keep(name, value, facts)
  redis.call('HSET', VALUE, name, value)
  redis.call('HSET', FACTS, name, cjson.encode(facts))
  local ends = facts.at + OPEN_KEEP
  if facts.over then
    ends = math.max(facts.over, facts.at) + KEEP
    redis.call('ZREM', OPEN, name)
    redis.call('ZADD', ENDED, text(facts.over), name)
  else
    redis.call('ZADD', OPEN, text(facts.at), name)
    redis.call('ZREM', ENDED, name)
  end
  redis.call('ZADD', ENDS, text(ends), name)
  for _, key in ipairs({VALUE, FACTS, ENDS, OPEN, BEGUN, ENDED, USED}) do redis.call('PEXPIRE', key, text(OPEN_KEEP)) end
end
local function field(facts, name) return text(math.floor(facts.at / DAY)) .. ':' .. name end
-- Count a new claim; `claim` has its facts and its daily amounts.
local function count(name, value, claim)
  for part, amount in pairs(claim.day) do redis.call('HINCRBY', USED, field(claim, part), text(amount)) end
  claim.day = nil
  redis.call('ZADD', BEGUN, text(claim.at), name)
  keep(name, value, claim)
end
-- Store news of a claim and refund its unused amounts; news of a lower rank than the known state are old.
local function tell(name, value, news)
  local facts = facts_of(name)
  if not facts then return 0 end
  local back = math.max(0, news.given - facts.given)
  for _, part in ipairs(facts.back) do
    if back > 0 and redis.call('HEXISTS', USED, field(facts, part)) == 1 then
      redis.call('HINCRBY', USED, field(facts, part), text(0 - back))
    end
  end
  facts.given = facts.given + back
  if news.rank < facts.rank then
    value = redis.call('HGET', VALUE, name)
  else
    facts.rank, facts.settled, facts.over = news.rank, news.settled, news.over
  end
  keep(name, value, facts)
  return 1
end
local function forget(now)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', ENDS, '-inf', text(now))) do
    redis.call('HDEL', VALUE, name)
    redis.call('HDEL', FACTS, name)
    for _, key in ipairs({ENDS, OPEN, BEGUN, ENDED}) do redis.call('ZREM', key, name) end
  end
  for _, name in ipairs(redis.call('HKEYS', USED)) do
    local day = tonumber(string.match(name, '^%d+'))
    if day * DAY + DAY + KEEP <= now then redis.call('HDEL', USED, name) end
  end
end
