"""Sentences of a trading analysis. They claim no more than the measurements show."""

from decimal import Decimal
from math import log

from mcp_binance_server.analytics.liquidity.stops import Noise
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.analytics.trend.bias import Bias
from mcp_binance_server.analytics.trend.day import DaySummary
from mcp_binance_server.analytics.trend.levels import TradeLevels
from mcp_binance_server.analytics.trend.outlook import Outlook
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.domain.money import name_of
from mcp_binance_server.domain.periods import DAY_MS
from mcp_binance_server.surface.views.markdown import DOLLAR_LIKE, percent, plain
from mcp_binance_server.surface.views.market import shown_price

ARTICLES = {"aggressive": "an", "balanced": "a", "conservative": "a"}
MOMENTUM = {
    "positive": "positive momentum with a {size} gain",
    "negative": "negative momentum with a {size} loss",
    "little": "little net movement ({signed}, {strength})",
    "stale": "a net change of {signed}, not judged because the data are old,",
    "not_judged": "a net change of {signed}, not judged without a week of hourly bars,",
}
AGAINST = {"usual_day": "{strength:.1f} of a normal day's move", "own_noise": "{strength:.1f} of the day's own noise"}
SENTIMENT = {
    "bullish": "The price is holding above the daily low, suggesting bullish sentiment.",
    "bearish": "The price is trading {where}, suggesting bearish sentiment.",
    "unclear": "The price sits inside the daily range without a clear direction.",
}
LOWEST_QUARTER = 0.25
QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
RANGES_ABOVE = {Decimal("0.25"): "a quarter of a", Decimal("0.50"): "half a", Decimal("0.75"): "three quarters of a"}
DIRECTIONS = {"up": "Up", "down": "Down", "unclear": "No clear direction"}


def opening_sentence(view: MarketView, outlook: Outlook) -> str:
    """Return the sentence on the last 24 hours. It names a direction only if the measurements support one."""
    return (
        f"*Based on current market conditions, {plain(name_of(view.rules.base))} is showing "
        f"{_momentum(view, outlook.day)} over 24 hours. {_sentiment(outlook.day)} "
        f"For {ARTICLES[outlook.strategy]} {outlook.strategy} strategy with {outlook.risk} risk tolerance, consider:*"
    )


def _momentum(view: MarketView, day: DaySummary) -> str:
    change = percent(view.ticker.change_percent)
    strength = "" if day.against is None else AGAINST[day.against].format(strength=day.strength)
    return MOMENTUM[day.momentum].format(size=change.lstrip("+-"), signed=change, strength=strength)


def _sentiment(day: DaySummary) -> str:
    is_low = day.position is not None and day.position <= LOWEST_QUARTER
    where = "near the daily low" if is_low else "below the middle of the daily range"
    return SENTIMENT[day.sentiment].format(where=where)


def bias_line(bias: Bias, *, is_stale: bool = False) -> str:
    """Return the direction of the week, and how often chance alone would give a direction."""
    if is_stale:
        return "**Bias**: not judged: the data are old"
    if bias.direction is None or bias.t is None:
        return f"**Bias**: not judged: {bias.n} of {bias.needed} hourly returns"
    return (
        f"**Bias**: {DIRECTIONS[bias.direction]} (t {bias.t:z.1f} over 7 days; "
        f"without a trend, |t| exceeds {bias.edge:g} in {bias.by_chance * 100:.0f} % of cases)"
    )


def entry_place(view: MarketView, outlook: Outlook, levels: TradeLevels) -> str:
    """Return the place of the entry: near a support level, otherwise its place in the 24-hour range."""
    if outlook.entry_level is not None:
        return "near current support"
    low = view.ticker.low
    if levels.entry_low < low:
        return "at the price, below the 24h range"
    bottom = DEFAULTS.range_factors[outlook.strategy].entry_low
    if levels.entry_low == low and bottom:
        return "from the 24h low to the price"
    return f"{QUARTERS[int(bottom * 4)]} of the 24h range"


def target_place(outlook: Outlook, levels: TradeLevels) -> str:
    """Return the place of the target: near a level, if there is a level."""
    if outlook.target_level is not None:
        return "near resistance"
    if levels.target_rule == "least":
        return "the minimum distance: 3 ticks or 2 spreads above the entry"
    return f"{RANGES_ABOVE[DEFAULTS.range_factors[outlook.strategy].target]} range above the 24h high"


def odds(levels: TradeLevels, noise: Noise | None, fee: Decimal) -> str:
    """Return the ratio of reward to risk, the odds of the stop by chance alone, and the mean result after fees."""
    reached = noise_words(noise, levels.entry, levels.stop)
    return (
        f"{levels.reward_risk:.2f} reward:risk; with no trend, the stop is hit before the target "
        f"{levels.stop_first * 100:.0f} % of the time{reached}; mean result by these odds: 0 before fees, "
        f"{levels.expectation(float(fee)) * 100:+.2f}% of the position after {fee * 100:.2f}% a side"
    )


def noise_words(noise: Noise | None, start: Decimal, stop: Decimal) -> str:
    """Return how often noise alone reaches a stop within a day; nothing if it is unknown."""
    if noise is None or stop >= start:
        return ""
    return f"; noise alone reaches it in 24 h in {noise.chance(log(start / stop), DAY_MS) * 100:.0f} %"


def level_price(view: MarketView, value: Decimal) -> str:
    """Format a price level, without cents if they are zero."""
    return short(view, shown_price(view, value))


def short(view: MarketView, shown: str) -> str:
    """Remove decimals that are zero."""
    if view.rules.quote in DOLLAR_LIKE:
        return shown.removesuffix(".00")
    digits, _, quote = shown.partition(" ")
    return f"{digits.removesuffix('.00')} {quote}"


def band(view: MarketView, levels: TradeLevels) -> str:
    """Format the entry band."""
    return f"{level_price(view, levels.entry_low)}-{level_price(view, levels.entry_high)}"


def code_words(code: str | None) -> str:
    """Format a reason code as words."""
    return (code or "no data").replace("_", " ")
