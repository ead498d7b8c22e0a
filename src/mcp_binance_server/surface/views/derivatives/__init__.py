"""Perpetuals as members of an answer and as Markdown."""
