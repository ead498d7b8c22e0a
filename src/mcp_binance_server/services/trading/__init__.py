"""Orders that can be placed: preview, confirmation, sending, tracking and stop."""
