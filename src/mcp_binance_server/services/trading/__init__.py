"""Orders that may be placed: tried out, agreed to, sent, followed and stopped."""
