"""The studies we can draw ourselves: their inputs, their lines, and the bars they need before the first one shown."""
