"""One use-case per method; the only callers of the parts below."""
