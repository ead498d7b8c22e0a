-- Mark a claim as departing, if it is as it was claimed.
-- ARGV then name, value, news   -> {verdict, value or why, '', since}
local facts = facts_of(ARGV[2])
local refusal = closed(facts)
if refusal then return refusal end
if not facts then return {'gone', '', '', 0} end
if facts.rank ~= 0 then return {'gone', redis.call('HGET', VALUE, ARGV[2]), '', 0} end
tell(ARGV[2], ARGV[3], cjson.decode(ARGV[4]))
return {'claimed', '', '', 0}
