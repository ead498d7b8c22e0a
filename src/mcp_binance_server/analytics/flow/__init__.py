"""Who trades against whom: signed volume, order-flow imbalance, direction."""
