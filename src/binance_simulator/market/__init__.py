"""The simulated market: prices, books, trades, candles and replay of recordings."""
