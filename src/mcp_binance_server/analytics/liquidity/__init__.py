"""Where a book can take size and where it cannot."""
