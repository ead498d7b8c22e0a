"""The chart tools."""
