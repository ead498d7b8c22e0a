"""Guided analyses: numbers first, then what stated rules make of them."""
