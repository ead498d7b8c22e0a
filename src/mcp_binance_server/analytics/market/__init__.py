"""Measures of a whole market: volatility, volume by price, health, anomalies."""
