"""Binance for AI assistants, over the Model Context Protocol."""

__version__ = "0.1.0"
