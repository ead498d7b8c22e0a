"""A fleet on paper, made of measured parts: where 10,000, 100,000 and 1,000,000 sessions fill what it has."""
