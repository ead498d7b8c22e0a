"""What every measure says of itself: its value or why there is none, its unit, its sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.domain.candles import Candle

Unit = Literal["quote", "base", "bps", "ratio", "percent", "ticks", "per_second", "score_0_100", "usd"]

WhyNull = Literal[
    "no_trades",
    "insufficient_bars",
    "insufficient_history",
    "insufficient_components",
    "zero_variance",
    "degenerate",
    "flat_range",
    "stop_not_below_entry",
    "below_min_notional",
    "empty_portfolio",
    "no_route",
]


@dataclass(frozen=True, slots=True)
class Window:
    """From when to when the inputs reach."""

    from_ms: int
    to_ms: int

    @classmethod
    def of(cls, candles: Sequence[Candle]) -> "Window | None":
        return cls(candles[0].open_time_ms, candles[-1].close_time_ms) if candles else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One number with its unit, method and sample size; without a value it says why."""

    value: float | None
    unit: Unit
    n: int
    method: str
    why_null: WhyNull | None = None
