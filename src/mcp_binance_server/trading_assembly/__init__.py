"""Trading, put together from its parts: on paper, and at Binance."""
