"""Charts: what chart-img.com can draw, the two spellings of a chart, and our own drawing."""
