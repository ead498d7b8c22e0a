"""Natural language to a chart: a trader's text becomes a configuration with reasons and warnings."""
