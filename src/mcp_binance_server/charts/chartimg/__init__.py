"""chart-img.com: its client, rate limits and documentation."""
