"""Perpetuals as members and as Markdown."""
