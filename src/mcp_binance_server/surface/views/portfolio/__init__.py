"""Holdings of an account as Markdown."""
