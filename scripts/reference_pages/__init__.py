"""Generator of the pages in docs/reference."""
