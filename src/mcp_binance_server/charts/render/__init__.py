"""Local chart renderer: candles and a spec in, an SVG scene and a PNG out. It fetches nothing and reads no clock."""
