"""Bytes in, bytes out."""
