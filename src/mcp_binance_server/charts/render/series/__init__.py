"""Drawing of market data: price, studies, volume profile."""
