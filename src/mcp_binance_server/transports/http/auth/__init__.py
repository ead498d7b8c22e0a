"""Who sends a request to the HTTP application: anybody, the holder of one of our tokens, or of one of an issuer's."""
