"""What the public futures data says of one perpetual."""
