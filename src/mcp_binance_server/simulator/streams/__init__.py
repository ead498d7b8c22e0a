"""Streams and the WebSocket API as Binance speaks them."""
