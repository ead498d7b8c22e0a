"""Logs without secrets, traces, and metrics."""
