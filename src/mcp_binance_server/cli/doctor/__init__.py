"""`mcp-binance-server doctor`: check the installation and explain each fix."""
