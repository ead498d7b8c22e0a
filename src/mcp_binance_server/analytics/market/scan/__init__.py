"""Market scan: columns, conditions, movers, and market breadth."""
