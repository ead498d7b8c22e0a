"""Authentication of HTTP requests: none, by the tokens of our own file, or by an issuer's access tokens."""
