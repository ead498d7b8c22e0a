-- Raise the count of one minute to the exchange's count.
-- KEYS minute   ARGV used, keep_ms
if tonumber(ARGV[1]) > tonumber(redis.call('HGET', KEYS[1], 'total') or '0') then
  redis.call('HSET', KEYS[1], 'total', ARGV[1])
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
