"""One stream per symbol in a whole fleet: the process that leads a symbol writes a journal, the others read it."""
