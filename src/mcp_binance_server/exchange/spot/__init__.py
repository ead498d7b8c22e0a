"""Binance Spot: its endpoints, its messages, its streams."""
