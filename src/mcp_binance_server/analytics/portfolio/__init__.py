"""Measures of a portfolio: holdings, value, profit and risk."""
