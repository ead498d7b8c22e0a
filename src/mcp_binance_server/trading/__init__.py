"""Orders: rules and previews, the journal, paper trading, sending and reconciliation."""
