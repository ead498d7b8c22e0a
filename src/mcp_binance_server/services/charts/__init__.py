"""Charts from words to picture."""
