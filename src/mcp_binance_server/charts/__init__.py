"""Charts: chart-img.com, the two JSON dialects of a chart, and the local renderer."""
