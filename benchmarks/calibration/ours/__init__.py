"""The product's judgements, as the yardstick asks for them; a module for each of its parts."""
