"""Lines, boxes and plans that somebody drew into a chart."""
