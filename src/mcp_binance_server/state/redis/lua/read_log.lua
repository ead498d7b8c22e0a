-- Tell what follows a place in a log.
-- ARGV nothing more   -> as `since`
return since()
