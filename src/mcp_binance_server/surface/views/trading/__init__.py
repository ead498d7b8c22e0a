"""Orders that are placed here, as text: the mode comes first, wherever money could be mistaken."""
