"""Measures of perpetuals and quarterlies: funding, open interest, basis, positioning, liquidations."""
