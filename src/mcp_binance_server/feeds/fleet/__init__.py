"""Symbols shared by a fleet: one process streams each symbol and publishes its events to the other processes."""
