"""Domain values: frozen records, exact money, no I/O."""
