"""MCP over HTTP: sessions, their streams, and the three transports."""
