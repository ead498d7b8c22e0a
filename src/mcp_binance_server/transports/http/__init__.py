"""The HTTP application, from the socket inwards."""
