"""Who is at the door of the HTTP application: anybody, the holder of one of our tokens, or of one of an issuer's."""
