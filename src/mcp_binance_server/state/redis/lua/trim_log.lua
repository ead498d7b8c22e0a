-- Keep what the entries up to a place amount to, and drop those that the snapshot before had in it.
-- ARGV then snapshot, ttl_ms   -> 1 | 0 that place is not in this log, or a later snapshot is there
if position <= at or not is_in_log() then return 0 end
for number = first, at do redis.call('HDEL', LOG, text(number)) end
redis.call('HSET', LOG, 'first', text(at + 1), 'at', text(position), 'snapshot', ARGV[3])
redis.call('PEXPIRE', LOG, ARGV[4])
return 1
