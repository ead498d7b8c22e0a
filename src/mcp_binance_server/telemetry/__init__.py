"""Logs that never carry a secret."""
