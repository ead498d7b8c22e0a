"""Streamed data: current books, and notification of subscribers."""
