"""Readers and writers of the parts of a chart. They read both dialects and write the tools' dialect."""
