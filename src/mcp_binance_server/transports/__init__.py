"""Transports: stdio, HTTP and gRPC; bytes in, bytes out."""
