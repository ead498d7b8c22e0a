"""The approval page: one order, on this machine alone, until a person has decided."""
