-- Add an entry if the log ends at the writer's mark; if not, return the entries after the mark.
-- ARGV then tag of the entry, entry, ttl_ms   -> {1, 0, number and tag of the end, entries kept, ''} | as `since`
if position ~= last or not is_in_log() then return since() end
last = last + 1
redis.call('HSET', LOG, text(last), ARGV[3] .. ARGV[4], 'end', text(last), 'tag', ARGV[3])
redis.call('PEXPIRE', LOG, ARGV[5])
return {1, 0, last, ARGV[3], last - first + 1, ''}
