"""Binance's streams and its WebSocket API."""
