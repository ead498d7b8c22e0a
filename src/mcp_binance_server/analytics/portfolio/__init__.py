"""What is held, what it is worth, and what could be lost."""
