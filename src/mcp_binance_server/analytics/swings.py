"""Swing highs and swing lows of a series."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.periods import Candle


@dataclass(frozen=True, slots=True)
class Swings:
    """Indices of the bars that are swing highs and swing lows."""

    highs: tuple[int, ...]
    lows: tuple[int, ...]


def find_swings(candles: Sequence[Candle], side: int = DEFAULTS.swing_side) -> Swings:
    """Find bars that are strictly above, or below, the `side` bars on each side.

    The last `side` bars cannot be swings yet.
    """
    highs: list[int] = []
    lows: list[int] = []
    for at in range(side, len(candles) - side):
        bar = candles[at]
        around = (*candles[at - side : at], *candles[at + 1 : at + 1 + side])
        if all(bar.high > other.high for other in around):
            highs.append(at)
        if all(bar.low < other.low for other in around):
            lows.append(at)
    return Swings(tuple(highs), tuple(lows))
