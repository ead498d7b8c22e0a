"""HTTP server: uvicorn with timeouts, connection limits and fair scheduling."""
