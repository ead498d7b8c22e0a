"""Order flow: signed volume by aggressor, order flow imbalance, direction."""
