"""What was meant, sent and became of it: written down before the first byte leaves, for every process of a host."""
