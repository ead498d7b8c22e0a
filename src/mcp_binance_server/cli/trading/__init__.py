"""Commands for people who trade, independent of the assistant."""
