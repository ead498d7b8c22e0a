"""Tools for prices, candles, symbols and market health."""
