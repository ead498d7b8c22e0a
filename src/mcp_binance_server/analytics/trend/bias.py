"""Which way a week leaned, held against its own noise; and last prices that cannot be."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import erfc, sqrt
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Strategy
from mcp_binance_server.domain.money import Price

Direction = Literal["up", "down", "unclear"]
Witness = Literal["book", "candle"]

WEEK_HOURS = 7 * 24
# Two answers are some milliseconds apart, in which no market that works moves so far.
FAR = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Bias:
    """The direction of the last week, and by how much it beat the week's own noise; None where a week is not known."""

    direction: Direction | None
    t: float | None
    n: int
    edge: float
    needed: int = WEEK_HOURS
    why_null: WhyNull | None = None

    @property
    def by_chance(self) -> float:
        """How often a series without drift lies beyond the edge, either way.

        2,000 driftless GARCH series with t(4) shocks lay beyond 2.1 in 3.4 % of cases; the normal law says 3.6 %.
        """
        return erfc(self.edge / sqrt(2))


def self_normalised(returns: Sequence[float]) -> float:
    """Return a sum over the root of its squares, from which calm and storm drop out; 0 where nothing moved."""
    noise = sqrt(sum(each * each for each in returns))
    return sum(returns) / noise if noise else 0.0


def find_bias(hourly_returns: Sequence[float], *, edge: float = DEFAULTS.bias_t) -> Bias:
    """Judge the last 168 hourly returns; averages and oscillators of one path agree on any path and do not vote."""
    week = hourly_returns[-WEEK_HOURS:]
    if len(week) < WEEK_HOURS:
        return Bias(None, None, len(week), edge, why_null="insufficient_bars")
    t = self_normalised(week)
    direction: Direction = "unclear" if abs(t) < edge else "up" if t > 0 else "down"
    return Bias(direction, t, len(week), edge)


def offers_entry(strategy: Strategy, bias: Bias) -> bool:
    """Tell whether a strategy buys at all: spot is long only, so the conservative one waits in a downtrend."""
    return not (strategy == "conservative" and bias.direction == "down")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A last price, and another price of the same moment that it cannot be."""

    witness: Witness
    last: Price
    other: Decimal

    @property
    def percent(self) -> Decimal:
        """How far the last price is above the other one, negative below it."""
        return (self.last - self.other) / self.other * 100


def disagreements(
    last: Price, *, bid: Price | None = None, ask: Price | None = None, close: Price | None = None
) -> tuple[Disagreement, ...]:
    """Hold the last price against what else is known; one between bid and ask agrees, however far they are apart."""
    if not last:
        return ()
    found: list[Disagreement] = []
    if bid and ask and not bid <= last <= ask:
        found.append(Disagreement("book", last, (bid + ask) / 2))
    if close:
        found.append(Disagreement("candle", last, close))
    return tuple(each for each in found if abs(each.last - each.other) > FAR * each.other)
