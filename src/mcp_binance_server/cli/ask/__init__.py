"""`mcp-binance-server ask`: one answer of one tool, in the terminal."""
