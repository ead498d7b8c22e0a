"""Use cases, one per method. Only this package calls the lower layers."""
