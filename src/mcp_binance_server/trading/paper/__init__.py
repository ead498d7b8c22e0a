"""Paper trading: orders are matched here with the real book and tape, never better than those allow."""
