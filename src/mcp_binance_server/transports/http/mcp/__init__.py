"""MCP over HTTP: sessions, their streams, and the three ways to speak it."""
