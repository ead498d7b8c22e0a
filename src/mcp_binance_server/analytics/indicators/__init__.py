"""Indicators over candles."""
