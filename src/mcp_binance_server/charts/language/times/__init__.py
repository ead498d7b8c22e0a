"""When: dates, spans, ranges and intervals in words."""
