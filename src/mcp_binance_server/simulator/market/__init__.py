"""The simulated market: prices, books, trades, candles and replayed recordings."""
