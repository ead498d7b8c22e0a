"""The live market: what the exchange's streams say, put together and kept in step."""
