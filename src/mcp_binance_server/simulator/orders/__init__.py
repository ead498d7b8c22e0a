"""Orders that clients place: rules, matching, accounts, and the record of executions."""
