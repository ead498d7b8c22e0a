-- Keep how a claim stands, and give back what it did not use.
-- ARGV then name, value, news   -> {1} kept | {0} no such claim
return {tell(ARGV[2], ARGV[3], cjson.decode(ARGV[4]))}
