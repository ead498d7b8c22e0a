"""Binance's protocols: REST, signing, weights. Imports nothing from the layers above."""
