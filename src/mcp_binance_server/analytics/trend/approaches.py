"""Hold rate of a price when the market returns to it, against arbitrary prices of the same bars."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from mcp_binance_server.analytics.confidence import shrunk_share
from mcp_binance_server.domain.periods import Candle

# In ATR: the distance of an approach, and the distance that settles it.
NEAR, AWAY = 0.25, 1.0
ARBITRARY = 200
GOLDEN = (5**0.5 - 1) / 2  # its multiples fill an interval evenly and are unrelated to the bars
LEAST_APPROACHES = 3


class Bar(NamedTuple):
    """The prices of a bar that decide an approach."""

    high: float
    low: float
    close: float


class Approaches(NamedTuple):
    """The number of returns to a price, and how many of them it held."""

    held: int
    n: int


def bars_of(candles: Sequence[Candle]) -> list[Bar]:
    """Return the candles as floats: a share of approaches is a statistic, not a price."""
    return [Bar(float(each.high), float(each.low), float(each.close)) for each in candles]


def approaches(level: float, bars: Sequence[Bar], unit: float) -> Approaches:
    """Count returns to a level from one unit away.

    A close one unit back on the old side is held, one unit through is broken. An approach without either is open and
    not counted.
    """
    held = n = 0
    side = coming_from = 0
    near, away = NEAR * unit, AWAY * unit
    for high, low, close in bars:
        gap = close - level
        if coming_from:
            if abs(gap) >= away:
                n += 1
                side = 1 if gap > 0 else -1
                held += side == coming_from
                coming_from = 0
        elif side and low - near <= level <= high + near:
            coming_from = side
        elif abs(gap) >= away:
            side = 1 if gap > 0 else -1
    return Approaches(held, n)


def share_held_anywhere(bars: Sequence[Bar], unit: float) -> float:
    """Return the share held by 200 arbitrary prices, spread over the range, each known from a different bar on."""
    low, high = min(each.low for each in bars), max(each.high for each in bars)
    held = n = 0
    for at in range(ARBITRARY):
        level = low + (high - low) * (at + 0.5) / ARBITRARY
        known_from = int(at * GOLDEN % 1 * len(bars) / 2)
        found = approaches(level, bars[known_from:], unit)
        held, n = held + found.held, n + found.n
    return shrunk_share(held, n, 0.5)  # without an approach: 0.5


def strength(found: Approaches, usual: float) -> float:
    """Return the excess of a level's hold rate over an arbitrary price's, shrunk towards no difference."""
    return shrunk_share(found.held, found.n, usual) - usual


def beats_chance(found: Approaches, usual: float, tried: int, *, alpha: float = 0.05) -> bool:
    """Return True if arbitrary prices hold this often in less than 5 % of series with as many levels tried."""
    if found.n < LEAST_APPROACHES:
        return False
    tail = sum(comb(found.n, k) * usual**k * (1 - usual) ** (found.n - k) for k in range(found.held, found.n + 1))
    return tail <= alpha / tried
