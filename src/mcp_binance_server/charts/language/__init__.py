"""Words to a chart: what a trader types becomes a configuration, with its reasons and its warnings."""
