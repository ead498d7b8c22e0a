"""The reference in docs/reference, written from the code itself."""
