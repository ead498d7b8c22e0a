-- Run on every new connection and by the heartbeat: is this a primary, which memory has it, what time is it?
-- A memory is another one if the server lost it, restarted, or took over from a primary that it had copied.
-- KEYS memory, then stops   ARGV candidate, known memory or '', settle_ms
-- -> {memory, birth in ms, 1 if it follows a lost one, seconds, microseconds, {ms left of each stop}}
local info = redis.call('INFO', 'replication')
if string.match(info, 'role:(%a+)') ~= 'master' then return redis.error_reply('READONLY this is not the primary') end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local memory = redis.call('HMGET', KEYS[1], 'id', 'born')
if not memory[1] or string.sub(memory[1], 1, #run + 1) ~= run .. '-' then
  memory = {run .. '-' .. ARGV[1], string.format('%.0f', now)}
  redis.call('HSET', KEYS[1], 'id', memory[1], 'born', memory[2])
  redis.call('HDEL', KEYS[1], 'settled')
end
-- A process that knew another memory reports this: then no new places are given until all such have restated theirs.
if ARGV[2] ~= '' and ARGV[2] ~= memory[1] then
  redis.call('HSETNX', KEYS[1], 'settled', string.format('%.0f', memory[2] + ARGV[3]))
end
local follows = redis.call('HEXISTS', KEYS[1], 'settled')
local stops = {}
for at = 2, #KEYS do stops[at - 1] = math.max(0, tonumber(redis.call('HGET', KEYS[at], 'ends') or '0') - now) end
return {memory[1], tonumber(memory[2]), follows, tonumber(time[1]), tonumber(time[2]), stops}
