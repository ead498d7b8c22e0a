"""Perpetual futures as structured data and as Markdown."""
