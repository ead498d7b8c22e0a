"""The HTTP application, from the socket to the MCP server."""
