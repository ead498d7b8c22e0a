"""Chart tools."""
