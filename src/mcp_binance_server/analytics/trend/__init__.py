"""Where a price may go: bias, levels, support and resistance, position size."""
