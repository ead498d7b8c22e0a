"""Building blocks of pages: tables, numbers, times, and warnings about the age of data."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import cache, lru_cache

from mcp_binance_server.analytics.trend.bias import Disagreement, Witness, disagreements
from mcp_binance_server.domain.market import MarketView
from mcp_binance_server.domain.money import Price, decimals_of, round_to_places
from mcp_binance_server.domain.price_reading import contradicts
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.words import shown

DOLLAR_LIKE = frozenset({"USDT", "USDC", "FDUSD", "TUSD", "BUSD", "DAI", "USD"})
# The exchange writes no price with more decimals.
FINEST = 8
# Smaller distances are rounding errors of float arithmetic.
BPS_NOISE = Decimal("1e-10")
_SPECIAL = str.maketrans({character: f"\\{character}" for character in r"\`*_{}[]<>|#"})

NO_STEP = Decimal(0)
# Five digits are exact to a hundredth of a percent. More digits would make long lists of candles a fifth longer.
VOLUME_DIGITS = 5

# A ticker's close time is the time of the answer. If the close time is older than this, the data is not current.
STALE_MS = 60_000
# If the parts of a page were read further apart than this, the page shows their distance in time.
APART_MS = 5_000
OPENINGS = ("*Stale: ", "*Not trading now: ", "*Contradiction: ")
CONTRADICTION = OPENINGS[2].strip("*")
WITNESSES: dict[Witness, str] = {"book": "the middle of the book", "candle": "the close of the newest candle"}


def price(value: Decimal, quote: str, tick: Decimal, *, signed: bool = False) -> str:
    """Format a price with the decimals of its tick, at least two, so that different prices never look equal."""
    return _written(value, price_places(tick, value), quote, signed=signed)


def average(value: Decimal, quote: str, tick: Decimal) -> str:
    """Format an average of prices, which may lie between two ticks.

    It gets one more decimal than a price, unless this is zero.
    """
    return _written(value, average_places(tick, value), quote)


def price_places(tick: Decimal, value: Decimal) -> int:
    """Return the number of decimals of a price. Without a known tick, these are the decimals of the price itself."""
    return max(2, decimals_of(tick) if tick else min(FINEST, decimals_of(value)))


def average_places(tick: Decimal, value: Decimal) -> int:
    """Return the number of decimals of an average of prices."""
    places = price_places(tick, value)
    return places if round_to_places(value, places) == round_to_places(value, places + 1) else places + 1


def money(amount: Decimal, quote: str, tick: Decimal, *, signed: bool = False) -> str:
    """Format an amount of the quote asset, which has no tick: `$50,234.56`, or `0.03101 BTC` for a coin."""
    # From 1 upwards two decimals are enough. Below 1, the tick sets the number of decimals.
    return _written(amount, 2 if abs(amount) >= 1 else max(2, decimals_of(tick)), quote, signed=signed)


def compact_money(value: float, quote: str) -> str:
    """Format an amount in short form: `$8.2M`. Other assets have two significant digits: `0.042 BTC`."""
    size, unit = next(
        ((size, unit) for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")) if abs(value) >= size), (1.0, "")
    )
    digits = f"{value / size:,.{bps_places(value, 1) if value else 0}f}{unit}"
    return f"${digits}" if quote in DOLLAR_LIKE else f"{digits} {plain(quote)}"


def bps(value: float | Decimal, places: int = 2) -> str:
    """Format a distance in basis points, with at least two significant digits."""
    return f"{value:z.{bps_places(value, places)}f}"


def bps_places(value: float | Decimal, places: int) -> int:
    """Return the number of decimals of a distance, so that a spread of 0.002 bps is not shown as zero."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    return max(places, 1 - exact.adjusted()) if abs(exact) > BPS_NOISE else places


def _written(amount: Decimal, places: int, quote: str, *, signed: bool = False) -> str:
    rounded = round_to_places(amount, places)
    if amount and not rounded:  # An average can be less than a tick. It gets two digits, because zero would be wrong.
        rounded = round_to_places(amount, 1 - amount.adjusted())
    sign = "-" if rounded < 0 else "+" if signed and rounded > 0 else ""
    digits = f"{abs(rounded):,f}"
    return f"{sign}${digits}" if quote in DOLLAR_LIKE else f"{sign}{digits} {plain(quote)}"


def amount(value: Decimal, places: int = 2) -> str:
    """Format a quantity with thousands separators."""
    return f"{round_to_places(value, places):,f}"


def percent(value: Decimal) -> str:
    """Format a signed percentage with two decimals. A second decimal of zero is dropped."""
    two = round_to_places(value, 2)
    one = round_to_places(value, 1)
    shown = (one if one == two else two) + 0  # adding zero turns -0.0 into 0.0
    return f"{'+' if shown > 0 else ''}{shown:f}%"


def instant(epoch_ms: int) -> str:
    """Format a time as ISO 8601 with milliseconds and Z."""
    seconds, ms = divmod(epoch_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{_minute(minutes)}:{seconds:02d}.{ms:03d}Z"


@lru_cache(maxsize=256)  # cached, because a list of a thousand trades covers a few minutes
def _minute(minutes: int) -> str:
    return f"{datetime.fromtimestamp(minutes * 60, UTC):%Y-%m-%dT%H:%M}"


def stamp(epoch_ms: int) -> str:
    """Format a time to the second with UTC, as in prompts."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def time_of_day(epoch_ms: int) -> str:
    """Format the time of day, for a text that shows the date elsewhere: `14:23:45`."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%H:%M:%S}"


def date_and_hour(epoch_ms: int) -> str:
    """Format the time of an hourly candle: `10-17 14:00`."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%m-%d %H:%M}"


def day_of(epoch_ms: int) -> str:
    """Format a date."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%Y-%m-%d}"


def share(ratio: float, places: int = 1) -> str:
    """Format a ratio as a percentage without a plus sign."""
    return f"{ratio * 100:z.{places}f}%"


def span(duration_ms: int) -> str:
    """Format a duration in its two largest units: `2 h 5 min`."""
    seconds = duration_ms // 1000
    parts = [
        (count, unit)
        for count, unit in (
            (seconds // 86400, "d"),
            (seconds // 3600 % 24, "h"),
            (seconds // 60 % 60, "min"),
            (seconds % 60, "s"),
        )
        if count
    ]
    return " ".join(f"{count} {unit}" for count, unit in parts[:2]) or "0 s"


def plain(text: str) -> str:
    """Escape text from outside, so that it cannot change the format of the page."""
    return shown(text).translate(_SPECIAL)


def exact(value: Decimal, step: Decimal = NO_STEP) -> str:
    """Format all digits of a number, with at least the decimals of `step` and no further zeros."""
    written = str(value)
    if "E" in written:  # Four times faster than general formatting. Few values have an exponent.
        written = f"{value:f}"
    whole, _, fraction = written.partition(".")
    fraction = fraction.rstrip("0")
    if step:
        fraction = fraction.ljust(decimals_of(step), "0")
    return f"{whole}.{fraction}" if fraction else whole


def exact_average(value: Decimal, tick: Decimal) -> str:
    """Format an average of prices for structured data, with the same digits as on pages."""
    return exact(round_to_places(value, average_places(tick, value)), tick)


def volume(value: Decimal) -> str:
    """Format a traded quantity with five significant digits, or all digits of a longer whole part."""
    return exact(_rounding(max(VOLUME_DIGITS, value.adjusted() + 1)).plus(value))


@cache
def _rounding(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_EVEN)


def leveled(count: int) -> str:
    """Format a number of price levels: `1 level`, `2 levels`."""
    return f"{count} level{'' if count == 1 else 's'}"


def next_step(tool: str, **arguments: str | int | list[str] | None) -> str:
    """Format a tool call. Arguments of None are left out."""
    said = {name: value for name, value in arguments.items() if value is not None}
    return f"{tool} {json.dumps(said, ensure_ascii=False)}"


def counted(count: int, limit: int | None = None, total: int | None = None) -> str:
    """Format the number of rows shown, their total, and the limit: `2 of 12 shown, limit 2`."""
    shown = f"{count} shown" if total is None else f"{count} of {total} shown"
    return shown if limit is None else f"{shown}, limit {limit}"


def with_more(lines: list[str], more: str | None) -> str:
    """Join lines. The last line is the call for further rows, because models read the end."""
    return "\n".join([*lines, f"More: {more}"] if more else lines)


def doubts(view: MarketView, close: Price | None = None) -> list[str]:
    """Return all warnings about a market's data, one sentence each."""
    found = [*status_doubts(view.rules), *stale_doubts(view)]
    ticker = view.ticker
    if ticker.has_traded:
        apart = disagreements(view.last_trade, bid=ticker.bid, ask=ticker.ask, close=close)
        found += contradictions(view.rules, apart)
    return found


def stale_doubts(view: MarketView) -> list[str]:
    """Return warnings if the last 24 hours of a market are old or without trades."""
    found = [] if view.ticker.has_traded else ["Stale: no trades in the last 24 hours"]
    return [*found, f"Stale: the exchange's data is {span(view.age_ms)} old"] if view.age_ms > STALE_MS else found


def data_times(times: Mapping[str, int]) -> str:
    """Return the time of each part of a page. If the times differ much, also return the difference."""
    written = ", ".join(f"{name} {time_of_day(at_ms)}" for name, at_ms in times.items())
    apart_ms = max(times.values()) - min(times.values())
    return f"{written} ({span(apart_ms)} apart)" if apart_ms > APART_MS else written


def status_doubts(rules: SymbolRules) -> list[str]:
    """Return a warning if a market is not trading."""
    return [] if rules.is_trading else [f"Not trading now: status {plain(rules.status)}"]


def contradictions(rules: SymbolRules, apart: Iterable[Disagreement]) -> list[str]:
    """Return a warning for each price that contradicts the last price. At most one of the two can be current."""
    return [
        f"Contradiction: the last price {price(each.last, rules.quote, rules.tick)} is {percent(each.percent)} from "
        f"{WITNESSES[each.witness]}, {average(each.other, rules.quote, rules.tick)}"
        for each in apart
    ]


def book_contradictions(rules: SymbolRules, close: Price | None, mid: Decimal | None) -> list[str]:
    """Return a warning if the newest candle contradicts the book."""
    if close is None or mid is None or not contradicts(close, mid):
        return []
    return [
        f"{CONTRADICTION}the newest candle closed at {price(close, rules.quote, rules.tick)}, "
        f"{percent((close - mid) / mid * 100)} from {WITNESSES['book']}, "
        f"{average(mid, rules.quote, rules.tick)}; what needs both is not judged"
    ]


def doubt_lines(found: Iterable[str]) -> list[str]:
    """Format warnings as lines of a page."""
    return [f"*{each}*" for each in found]


def with_doubts(page: str, found: Iterable[str]) -> str:
    """Insert contradictions below the title of a page, and other warnings above its last line, which shows the time."""
    lines, warnings = page.split("\n"), [*found]
    first = [each for each in warnings if each.startswith(CONTRADICTION)]
    others = [each for each in warnings if each not in first]
    return "\n".join([lines[0], *doubt_lines(first), *lines[1:-1], *doubt_lines(others), lines[-1]])


def doubts_in(page: str) -> list[str]:
    """Return the warnings on a page."""
    return [line.strip("*") for line in page.split("\n") if line.startswith(OPENINGS)]
