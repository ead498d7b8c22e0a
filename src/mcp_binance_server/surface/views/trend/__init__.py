"""A trading analysis as Markdown."""

ONE_BOOK = "*It sees one book on one venue: no other exchange, and no trade off the book.*"
NOT_ADVICE = "*Computed by the stated rules from public data; not financial advice.*"
