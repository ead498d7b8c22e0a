"""Pure calculations: domain values in, small frozen records out. No clock, no I/O, no randomness."""
