"""Drawings in a chart: lines, boxes and plans."""
