"""Which way the signs point, and how far they agree."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.thresholds import DEFAULTS, Strategy
from mcp_binance_server.domain.money import Price

Direction = Literal["up", "down", "mixed"]
Momentum = Literal["positive", "negative", "little"]
Sentiment = Literal["bullish", "bearish", "unclear"]

Witness = Literal["book", "candle"]

# Two answers are some milliseconds apart, in which no market that works moves so far.
FAR = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Bias:
    """The direction most votes agree on; a tie inside a vote counts for neither side."""

    direction: Direction | None
    up: int
    down: int
    n: int
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True)
class DaySummary:
    """The words a page may use of the last 24 hours; `position` is 0 at the low and 1 at the high."""

    momentum: Momentum
    position: float | None
    sentiment: Sentiment


def find_bias(
    price: float,
    ema_fast: float | None,
    ema_slow: float | None,
    *,
    rsi: float | None,
    change_percent: float,
    min_votes: int = DEFAULTS.bias_min_votes,
) -> Bias:
    """Count the votes of price, averages, strength and the day's change."""
    votes = list(_votes(((price, ema_fast), (ema_fast, ema_slow), (rsi, 50.0), (change_percent, 0.0))))
    up, down = sum(vote > 0 for vote in votes), sum(vote < 0 for vote in votes)
    if len(votes) < min_votes:
        return Bias(None, up, down, len(votes), "insufficient_components")
    direction: Direction = "up" if up >= min_votes else "down" if down >= min_votes else "mixed"
    return Bias(direction, up, down, len(votes))


def offers_entry(strategy: Strategy, bias: Bias) -> bool:
    """Tell whether a strategy buys at all: spot is long only, so the conservative one waits in a downtrend."""
    return not (strategy == "conservative" and bias.direction == "down")


def position_in_range(price: Price, high: Price, low: Price) -> float | None:
    """Return where the price stands between low and high; None when there is no range."""
    return float((price - low) / (high - low)) if high > low else None


def summarise_day(
    price: Price,
    high: Price,
    low: Price,
    change_percent: Decimal,
    *,
    edge_percent: Decimal = DEFAULTS.momentum_percent,
) -> DaySummary:
    """Choose the words for the day: momentum by the change, sentiment only when the position agrees with it."""
    position = position_in_range(price, high, low)
    momentum: Momentum = "little"
    sentiment: Sentiment = "unclear"
    if change_percent > edge_percent:
        momentum = "positive"
        sentiment = "bullish" if position is not None and position >= 0.5 else "unclear"
    elif change_percent < -edge_percent:
        momentum = "negative"
        sentiment = "bearish" if position is not None and position <= 0.5 else "unclear"
    return DaySummary(momentum, position, sentiment)


def _votes(pairs: Iterable[tuple[float | None, float | None]]) -> Iterable[float]:
    for left, right in pairs:
        if left is not None and right is not None:
            yield left - right


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
