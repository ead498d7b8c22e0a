"""The parts of a chart: read from either dialect, and written in the tools' dialect."""
