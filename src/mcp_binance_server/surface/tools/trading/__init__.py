"""Tools that place and cancel orders; available only if trading is on."""
