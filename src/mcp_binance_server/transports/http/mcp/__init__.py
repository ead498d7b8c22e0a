"""MCP over HTTP: sessions, their streams, and three transports."""
