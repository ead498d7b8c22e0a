"""Chart rendering: candles and a spec in, an SVG scene and a PNG out; nothing is fetched and no clock is read."""
