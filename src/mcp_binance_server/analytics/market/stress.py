"""Stress of a market now: lost depth, wider spread and price move. At least two must exceed their usual range."""

from collections import deque
from dataclasses import dataclass
from math import exp, log

from mcp_binance_server.analytics.market.last_hour import StressParts, StressScale
from mcp_binance_server.analytics.market.minute import BookMoment
from mcp_binance_server.analytics.score_history import Judgement

DEPTH_S = 5
MOVE_S = 10
# By design a single part exceeds its 95th percentile in one of twenty seconds.
LEAST_PARTS = 2
MOST_UNITS = 20.0
# Excess of a part whose values did not vary within the hour.
_FLAT_UNITS = 3.0
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class StressReading:
    """Stress score, and depth, spread and move relative to usual.

    The score sums the excesses in units of (95th percentile - median).
    """

    score: float
    depth_share: float
    spread_times: float
    move_bps: float
    high: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StressNow:
    """Stress of this second, and its rank among the symbol's minutes. `reading` is None while the hour is too short."""

    reading: StressReading | None
    judgement: Judgement


class StressMeter:
    """Buffer of the last seconds of a book."""

    __slots__ = ("_moments",)

    def __init__(self) -> None:
        self._moments: deque[BookMoment] = deque(maxlen=MOVE_S + 1)

    def add(self, moment: BookMoment) -> None:
        self._moments.append(moment)

    def clear(self) -> None:
        """Clear the buffer: a move must not span a gap."""
        self._moments.clear()

    def parts(self) -> StressParts | None:
        """Return the present parts, or None before there are enough seconds."""
        rows = [*self._moments]
        if len(rows) <= MOVE_S:
            return None
        depth = sum(each.wide for each in rows[-DEPTH_S:]) / DEPTH_S
        spread = sum(each.spread / each.mid for each in rows[-MOVE_S:]) / MOVE_S
        return StressParts(-log(max(depth, _NOTHING)), log(spread), abs(log(rows[-1].mid / rows[0].mid)))


def stress_of(parts: StressParts, scale: StressScale) -> StressReading:
    """Sum the parts beyond their 95th percentile. Fewer than two give a score of 0."""
    units = {
        name: _units(*each) for name, *each in zip(StressParts._fields, parts, scale.middle, scale.high, strict=True)
    }
    over = {name: min(each, MOST_UNITS) for name, each in units.items() if each > 1}
    return StressReading(
        sum(over.values()) if len(over) >= LEAST_PARTS else 0.0,
        exp(scale.middle.depth - parts.depth),
        exp(parts.spread - scale.middle.spread),
        10_000 * (exp(parts.move) - 1),
        tuple(over),
    )


def _units(value: float, middle: float, high: float) -> float:
    if high > middle:
        return (value - middle) / (high - middle)
    # All values of the hour were equal, apart from rounding in storage.
    return _FLAT_UNITS if value > high + 1e-6 * max(1.0, abs(high)) else 0.0
