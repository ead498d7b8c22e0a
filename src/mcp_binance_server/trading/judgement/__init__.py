"""Checks of an order before it is sent: rules of the exchange, terms, limits. Pure."""
