"""Technical indicators over candles."""
