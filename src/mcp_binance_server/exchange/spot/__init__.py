"""Binance Spot: REST calls, wire formats and streams."""
