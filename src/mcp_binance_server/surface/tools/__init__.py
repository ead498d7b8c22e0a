"""The tools, by what they are about."""
