"""Order endpoints: single orders, order lists and replacements."""
