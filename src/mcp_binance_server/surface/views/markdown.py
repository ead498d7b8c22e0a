"""How numbers, times and foreign text are written on every page."""

from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache

from mcp_binance_server.domain.money import decimals_of, round_to_places
from mcp_binance_server.words import shown

DOLLAR_LIKE = frozenset({"USDT", "USDC", "FDUSD", "TUSD", "BUSD", "DAI", "USD"})
# No price of the exchange has more decimals.
FINEST = 8
# Below this a distance computed in floats is their rounding, not the market's.
BPS_NOISE = Decimal("1e-10")
_SPECIAL = str.maketrans({character: f"\\{character}" for character in r"\`*_{}[]<>|#"})


def price(value: Decimal, quote: str, tick: Decimal, *, signed: bool = False) -> str:
    """Write a price with the decimals of its tick, two at least: two different prices never look alike."""
    return _written(value, price_places(tick, value), quote, signed=signed)


def average(value: Decimal, quote: str, tick: Decimal) -> str:
    """Write a mean of prices: it lies between two ticks and gets one decimal more, unless that one is a zero."""
    return _written(value, average_places(tick, value), quote)


def price_places(tick: Decimal, value: Decimal) -> int:
    """Return the decimals of a price; where the exchange set no tick the price itself says what it needs."""
    return max(2, decimals_of(tick) if tick else min(FINEST, decimals_of(value)))


def average_places(tick: Decimal, value: Decimal) -> int:
    """Return the decimals of a mean of prices."""
    places = price_places(tick, value)
    return places if round_to_places(value, places) == round_to_places(value, places + 1) else places + 1


def money(amount: Decimal, quote: str, tick: Decimal, *, signed: bool = False) -> str:
    """Write a sum of the quote asset, which no tick binds: `$50,234.56`, or `0.03101 BTC` where a dollar would lie."""
    # From 1 upwards two decimals say enough; below it only the tick size knows what matters.
    return _written(amount, 2 if abs(amount) >= 1 else max(2, decimals_of(tick)), quote, signed=signed)


def bps(value: float | Decimal, places: int = 2) -> str:
    """Write a distance in basis points; a small one gets the decimals that two digits of it need."""
    return f"{value:z.{bps_places(value, places)}f}"


def bps_places(value: float | Decimal, places: int) -> int:
    """Return the decimals a distance needs: a spread of 0.002 bps is no zero."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    return max(places, 1 - exact.adjusted()) if abs(exact) > BPS_NOISE else places


def _written(amount: Decimal, places: int, quote: str, *, signed: bool = False) -> str:
    rounded = round_to_places(amount, places)
    if amount and not rounded:  # less than a tick, such as an average: two digits of it, for a zero would be a lie
        rounded = round_to_places(amount, 1 - amount.adjusted())
    sign = "-" if rounded < 0 else "+" if signed and rounded > 0 else ""
    digits = f"{abs(rounded):,f}"
    return f"{sign}${digits}" if quote in DOLLAR_LIKE else f"{sign}{digits} {plain(quote)}"


def amount(value: Decimal, places: int = 2) -> str:
    """Write a quantity with thousands separators."""
    return f"{round_to_places(value, places):,f}"


def percent(value: Decimal) -> str:
    """Write a signed percentage: one decimal if nothing is lost, else two."""
    two = round_to_places(value, 2)
    one = round_to_places(value, 1)
    shown = (one if one == two else two) + 0  # adding nothing turns -0.0 into 0.0
    return f"{'+' if shown > 0 else ''}{shown:f}%"


def instant(epoch_ms: int) -> str:
    """Write a moment as ISO 8601 with milliseconds and Z."""
    seconds, ms = divmod(epoch_ms, 1000)
    minutes, seconds = divmod(seconds, 60)
    return f"{_minute(minutes)}:{seconds:02d}.{ms:03d}Z"


@lru_cache(maxsize=256)  # a list of a thousand trades is of a few minutes
def _minute(minutes: int) -> str:
    return f"{datetime.fromtimestamp(minutes * 60, UTC):%Y-%m-%dT%H:%M}"


def stamp(epoch_ms: int) -> str:
    """Write a moment as prompts do: to the second, with UTC."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def time_of_day(epoch_ms: int) -> str:
    """Write a time whose date is clear: `14:23:45`."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%H:%M:%S}"


def date_and_hour(epoch_ms: int) -> str:
    """Write when an hourly bar was: `10-17 14:00`."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%m-%d %H:%M}"


def day_of(epoch_ms: int) -> str:
    """Write a date."""
    return f"{datetime.fromtimestamp(epoch_ms // 1000, UTC):%Y-%m-%d}"


def share(ratio: float, places: int = 1) -> str:
    """Write a ratio as a percentage without a sign of its own."""
    return f"{ratio * 100:z.{places}f}%"


def span(duration_ms: int) -> str:
    """Write a duration in its two largest units: `2 h 5 min`."""
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
    """Escape text we did not write, so that it can neither format nor break the page."""
    return shown(text).translate(_SPECIAL)
