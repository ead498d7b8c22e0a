"""Holdings, orders and trades of an account."""
