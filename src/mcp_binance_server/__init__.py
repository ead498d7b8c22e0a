"""MCP server for Binance market data and trading."""

__version__ = "0.2.0"
