"""Tools, grouped by subject."""
