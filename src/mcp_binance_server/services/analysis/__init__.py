"""The guided analyses."""
