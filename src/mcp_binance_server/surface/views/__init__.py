"""Rendering of domain values as Markdown. Pure: equal values give equal text."""
