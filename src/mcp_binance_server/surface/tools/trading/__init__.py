"""Tools that place and cancel orders. They exist only if trading is on."""
