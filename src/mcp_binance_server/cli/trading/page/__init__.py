"""The approval page: one order, on this machine only, until a person has decided."""
