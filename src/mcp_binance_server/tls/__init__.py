"""TLS of outgoing connections."""
