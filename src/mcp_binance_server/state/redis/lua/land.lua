-- End a production: publish its outcome, store a value with a TTL, free the lock if this producer still holds it.
-- KEYS value, lock, outcome   ARGV own id, outcome ('v' .. value, 'e' .. error, '' if given up), px or 0, tell_ms
if ARGV[2] ~= '' then redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[4]) end
if ARGV[3] ~= '0' then redis.call('SET', KEYS[1], string.sub(ARGV[2], 2), 'PX', ARGV[3]) end
if redis.call('HGET', KEYS[2], 'id') == ARGV[1] then redis.call('DEL', KEYS[2]) end
return 1
