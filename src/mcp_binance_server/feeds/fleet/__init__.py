"""One stream for a symbol in a whole fleet: the process that leads it writes a journal, the others read that."""
