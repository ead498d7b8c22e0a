"""Studies of the local renderer: their inputs, their lines, and the warm-up bars they need."""
