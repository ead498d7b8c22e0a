-- A log: a hash of entries by their number, each behind its tag, and a snapshot; each script on logs begins with this.
-- KEYS log   ARGV position, tag, ...
local LOG, TAG = KEYS[1], 32
local held = redis.call('HMGET', LOG, 'end', 'tag', 'first', 'at')
local last, newest = tonumber(held[1] or '0'), held[2] or ''
local first, at = tonumber(held[3] or '1'), tonumber(held[4] or '0')
local position = tonumber(ARGV[1])

local function text(number) return string.format('%.0f', number) end
local function is_in_log()
  if position == last then return ARGV[2] == newest and (position > 0 or at == 0) end
  if position == 0 then return at == 0 end
  local entry = redis.call('HGET', LOG, text(position))
  return entry and string.sub(entry, 1, TAG) == ARGV[2]
end
-- -> {0, 1 if the mark is not in this log, number and tag of the end, entries kept, snapshot, entries}
local function since()
  local from, told = position, {0, 0, last, newest, last - first + 1, ''}
  if not is_in_log() then
    from, told[2], told[6] = at, 1, redis.call('HGET', LOG, 'snapshot') or ''
  end
  for number = from + 1, last do told[#told + 1] = string.sub(redis.call('HGET', LOG, text(number)), TAG + 1) end
  return told
end
