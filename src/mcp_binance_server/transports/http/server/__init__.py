"""Connections: uvicorn, timeouts, fair turns."""
