"""Liquidity: thin ranges, standing sizes, costs and stops."""
