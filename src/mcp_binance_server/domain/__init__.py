"""The vocabulary: frozen values, exact money, no I/O."""
