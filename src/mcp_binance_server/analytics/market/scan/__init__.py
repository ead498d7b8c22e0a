"""Scan of a whole market: columns, conditions on them, movers, and breadth."""
