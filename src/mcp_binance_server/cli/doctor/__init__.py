"""`mcp-binance-server doctor`: what works, what does not, and how to fix it."""
