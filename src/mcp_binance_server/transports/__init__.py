"""Transports: MCP over stdio and HTTP, and the gRPC service."""
