"""A simulated Binance Spot REST service for tests and demos, served on loopback."""
