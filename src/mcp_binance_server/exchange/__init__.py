"""Clients of Binance: REST, market streams, signatures and weight budgets. Imports nothing from the layers above."""
