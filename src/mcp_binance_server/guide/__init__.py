"""Documents under guide:// addresses: found on disk, opened safely, resolved, framed and searched."""
