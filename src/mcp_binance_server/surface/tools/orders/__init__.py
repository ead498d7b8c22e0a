"""Tools for orders."""
