"""Parts of a chart: from either dialect to the service's dialect, and back to the tools' dialect."""
