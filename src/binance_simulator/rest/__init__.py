"""The REST APIs of Binance and chart-img.com."""
