"""Prices, candles, symbols and indicators."""
