"""A market as a whole: volatility, volume by price, health, anomalies."""
