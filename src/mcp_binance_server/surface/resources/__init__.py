"""Readers of the binance:// categories."""
