"""Connections: uvicorn, patience, fair turns."""
