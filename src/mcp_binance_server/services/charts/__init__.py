"""Charts, from a description in words to the picture."""
