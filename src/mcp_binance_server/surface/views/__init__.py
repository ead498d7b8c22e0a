"""Rendering of domain values as Markdown. Pure: equal values always give equal text."""
