"""The live market: books, trades and statistics kept in sync with the exchange's streams."""
