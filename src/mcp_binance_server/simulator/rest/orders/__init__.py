"""The endpoints of orders: one by one, in lists, replaced."""
