"""An account's holdings as Markdown."""
