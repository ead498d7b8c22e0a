"""Tools for order books."""
