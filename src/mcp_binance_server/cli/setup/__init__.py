"""`mcp-binance-server setup`: add this server to MCP clients, without keys in their configuration."""
