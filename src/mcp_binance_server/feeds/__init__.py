"""Live market data: order books, trades and 24-hour statistics, synced with the exchange's streams."""
