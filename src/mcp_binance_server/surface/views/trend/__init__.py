"""A trading analysis as Markdown."""

NOT_ADVICE = "*Computed by the stated rules from public data; not financial advice.*"
