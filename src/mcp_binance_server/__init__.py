"""Binance for AI assistants, over the Model Context Protocol."""

__version__ = "0.2.0"
