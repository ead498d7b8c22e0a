"""REST as Binance and chart-img.com speak it."""
