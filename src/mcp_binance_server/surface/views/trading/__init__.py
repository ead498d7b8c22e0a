"""Orders placed here, as text; the mode comes first, wherever the kind of money could be mistaken."""
