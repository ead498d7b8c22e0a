"""Drawing of a market's data: price, studies, volume by price."""
