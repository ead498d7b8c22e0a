"""A whole market at once: its columns, the conditions on them, who moved, and how many."""
