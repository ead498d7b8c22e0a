"""The endpoints of orders: single orders, lists, and replacements."""
