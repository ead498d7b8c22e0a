"""What is drawn of a market: its price, its studies, its volume by price."""
