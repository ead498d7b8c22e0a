"""Order books as Markdown."""
