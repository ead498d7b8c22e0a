"""Orders of clients: rules, matching, accounts and executions."""
