"""Hold rate: how often a price held when the market returned to it, compared with arbitrary prices."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

from mcp_binance_server.analytics.confidence import shrunk_share
from mcp_binance_server.domain.periods import Candle

# In ATR: distance at which an approach starts, and distance that decides it.
NEAR, AWAY = 0.25, 1.0
ARBITRARY = 100
GOLDEN = (5**0.5 - 1) / 2  # golden ratio: its multiples fill an interval evenly and are unrelated to the bars
LEAST_APPROACHES = 8


class Bar(NamedTuple):
    """The prices of a bar that an approach depends on."""

    high: float
    low: float
    close: float


class Approaches(NamedTuple):
    """Number of approaches to a price, and how many of them it held."""

    held: int
    n: int


def bars_of(candles: Sequence[Candle]) -> list[Bar]:
    """Convert candles to floats, which are exact enough for counting approaches."""
    return [Bar(float(each.high), float(each.low), float(each.close)) for each in candles]


def approaches(level: float, bars: Sequence[Bar], unit: float) -> Approaches:
    """Count the approaches to a level from one unit away.

    The level held if a later close is one unit back on the old side. It broke if a close is one unit beyond it. An
    approach without such a close is open and does not count.
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
    """Return the hold rate of a hundred arbitrary prices, spread evenly over the range.

    Like a real level, each price counts only from a certain bar on.
    """
    low, high = min(each.low for each in bars), max(each.high for each in bars)
    held = n = 0
    for at in range(ARBITRARY):
        level = low + (high - low) * (at + 0.5) / ARBITRARY
        known_from = int(at * GOLDEN % 1 * len(bars) / 2)
        found = approaches(level, bars[known_from:], unit)
        held, n = held + found.held, n + found.n
    return shrunk_share(held, n, 0.5)  # 0.5 if there are no approaches


def strength(found: Approaches, usual: float) -> float:
    """Return the hold rate of a level minus the hold rate of arbitrary prices, shrunk towards zero."""
    return shrunk_share(found.held, found.n, usual) - usual


def beats_chance(found: Approaches, usual: float, tried: int, *, alpha: float = 0.05) -> bool:
    """Return True if a level held significantly more often than arbitrary prices.

    The test is binomial, at `alpha` divided by the number of levels tried.
    """
    if found.n < LEAST_APPROACHES:
        return False
    tail = sum(comb(found.n, k) * usual**k * (1 - usual) ** (found.n - k) for k in range(found.held, found.n + 1))
    return tail <= alpha / tried
