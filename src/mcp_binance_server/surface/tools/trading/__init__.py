"""Tools that place and cancel orders; they exist only if trading is on."""
