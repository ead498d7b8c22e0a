"""The parts of a chart, each read from either dialect and written back in the tools' own."""
