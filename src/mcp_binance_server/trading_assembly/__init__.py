"""Assembly of trading: on paper and at Binance."""
