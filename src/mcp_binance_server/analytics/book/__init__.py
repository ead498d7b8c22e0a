"""Measures of an order book at one moment, and of its levels over time."""
