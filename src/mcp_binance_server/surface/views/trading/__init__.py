"""Orders of this server as text; the mode (paper, practice or live) comes first."""
