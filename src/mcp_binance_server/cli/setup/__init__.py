"""`mcp-binance-server setup`: write the configuration of an MCP client, and keep keys out of it."""
