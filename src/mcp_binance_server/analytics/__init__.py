"""Pure measures: domain values in, small frozen records out; no clock, no I/O, no randomness."""
