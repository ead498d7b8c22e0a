"""What is streamed: books as they are now, and who is told of changes."""
