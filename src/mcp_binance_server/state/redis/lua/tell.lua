-- Store the state of a claim, and refund its unused amounts.
-- ARGV then name, value, news   -> {1} stored | {0} no such claim
return {tell(ARGV[2], ARGV[3], cjson.decode(ARGV[4]))}
