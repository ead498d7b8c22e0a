"""Studies of our own renderer: their inputs, their lines, and the warm-up bars they need."""
