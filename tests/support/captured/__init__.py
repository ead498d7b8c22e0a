"""Captured answers of Binance: their files, the parser of each, and the program that writes them."""
