"""Tools that place and cancel orders; there are none unless trading was chosen."""
