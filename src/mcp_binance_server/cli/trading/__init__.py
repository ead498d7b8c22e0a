"""Commands for who trades: what a person does beside the assistant."""
