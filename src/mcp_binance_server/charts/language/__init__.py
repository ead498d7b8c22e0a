"""Natural language to charts: a trader's text becomes a configuration with reasons and warnings."""
