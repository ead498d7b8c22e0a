"""Tools for prices, candles, symbols and a market's health."""
