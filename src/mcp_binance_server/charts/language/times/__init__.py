"""Times in a text: dates, spans, ranges and intervals."""
