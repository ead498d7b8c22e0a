"""Orders as Markdown."""
