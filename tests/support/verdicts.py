"""Words that pages of numbers do not say."""

VERDICTS = (
    "bullish", "bearish", "overbought", "oversold", "squeeze", "crowded", "overheated", "signal", "opportunity",
    "buy now", "sell now", "extreme", "unusual", "risk-on",
)  # fmt: skip
