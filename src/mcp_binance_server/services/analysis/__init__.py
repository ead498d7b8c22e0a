"""Guided analyses of a market."""
