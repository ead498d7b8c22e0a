-- Store a snapshot of the entries up to a mark, and drop the entries that the previous snapshot contains.
-- ARGV then snapshot, ttl_ms   -> 1 | 0 the mark is not in this log, or the snapshot is not older
if position <= at or not is_in_log() then return 0 end
for number = first, at do redis.call('HDEL', LOG, text(number)) end
redis.call('HSET', LOG, 'first', text(at + 1), 'at', text(position), 'snapshot', ARGV[3])
redis.call('PEXPIRE', LOG, ARGV[4])
return 1
