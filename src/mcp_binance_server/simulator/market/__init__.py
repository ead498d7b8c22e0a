"""The market that is simulated: prices, books, trades, candles, and recordings played again."""
