"""What an order book shows at one moment, and how its levels behave over time."""
