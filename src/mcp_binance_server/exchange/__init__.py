"""Binance on the wire: REST, signing, weights. Knows nothing above it."""
