"""Paper trading: orders fill against the real order book and trades, never on better terms."""
