"""Domain values to Markdown: pure, the same value always gives the same text."""
