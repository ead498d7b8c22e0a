"""What is held as Markdown."""
