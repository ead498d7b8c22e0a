"""Direction of the last week against its own noise, and detection of impossible last prices."""

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
# Two answers are some milliseconds apart; no working market moves this far in that time.
FAR = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Bias:
    """The direction of the last week, and its size relative to the week's noise; None if the week is incomplete."""

    direction: Direction | None
    t: float | None
    n: int
    edge: float
    needed: int = WEEK_HOURS
    why_null: WhyNull | None = None

    @property
    def by_chance(self) -> float:
        """The probability that a series without drift lies beyond the edge, on either side.

        2,000 driftless GARCH series with t(4) shocks lay beyond 2.1 in 3.4 % of cases; the normal distribution gives
        3.6 %.
        """
        return erfc(self.edge / sqrt(2))


def self_normalised(returns: Sequence[float]) -> float:
    """Return a sum over the root of its squares, which cancels the level of volatility; 0 without any move."""
    noise = sqrt(sum(each * each for each in returns))
    return sum(returns) / noise if noise else 0.0


def find_bias(hourly_returns: Sequence[float], *, edge: float = DEFAULTS.bias_t) -> Bias:
    """Judge the last 168 hourly returns. Averages and oscillators of one path always agree, so they have no vote."""
    week = hourly_returns[-WEEK_HOURS:]
    if len(week) < WEEK_HOURS:
        return Bias(None, None, len(week), edge, why_null="insufficient_bars")
    t = self_normalised(week)
    direction: Direction = "unclear" if abs(t) < edge else "up" if t > 0 else "down"
    return Bias(direction, t, len(week), edge)


def offers_entry(strategy: Strategy, bias: Bias) -> bool:
    """Return whether a strategy buys at all. Spot is long only, so the conservative strategy waits in a downtrend."""
    return not (strategy == "conservative" and bias.direction == "down")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A last price, and another price of the same moment that contradicts it."""

    witness: Witness
    last: Price
    other: Decimal

    @property
    def percent(self) -> Decimal:
        """The distance of the last price above the other one in percent; negative below it."""
        return (self.last - self.other) / self.other * 100


def disagreements(
    last: Price, *, bid: Price | None = None, ask: Price | None = None, close: Price | None = None
) -> tuple[Disagreement, ...]:
    """Compare the last price with other known prices. A price between bid and ask agrees, however wide the spread."""
    if not last:
        return ()
    found: list[Disagreement] = []
    if bid and ask and not bid <= last <= ask:
        found.append(Disagreement("book", last, (bid + ask) / 2))
    if close:
        found.append(Disagreement("candle", last, close))
    return tuple(each for each in found if abs(each.last - each.other) > FAR * each.other)
