"""Trading commands for people at a terminal."""
