"""Trade outlook: bias, levels, support and resistance, position size."""
