"""Orders before they exist: what one may look like, what the exchange's rules say of it, what it would do."""
