"""Use cases, one per method; the only callers of the lower layers."""
