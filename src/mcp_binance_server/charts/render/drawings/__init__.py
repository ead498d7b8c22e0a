"""Drawings on a chart: lines, boxes and trade plans."""
