"""A simulated Binance with REST and WebSocket APIs on loopback, for tests and demos."""
