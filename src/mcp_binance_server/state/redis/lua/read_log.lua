-- Return the entries after a mark in a log.
-- ARGV nothing more   -> as `since`
return since()
