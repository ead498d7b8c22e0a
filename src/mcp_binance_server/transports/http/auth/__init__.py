"""Authentication of HTTP requests: none, by a token file, or by access tokens of an OAuth issuer."""
