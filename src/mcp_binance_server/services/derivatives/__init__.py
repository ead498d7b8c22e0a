"""Public futures data about one perpetual."""
