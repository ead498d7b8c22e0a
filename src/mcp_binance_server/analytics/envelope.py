"""What every measure says of itself: window, sample, coverage, and why it is missing where it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from mcp_binance_server.domain.periods import Candle

Unit = Literal["quote", "base", "bps", "ratio", "percent", "ticks", "per_second", "score_0_100", "usd", "queues"]

Confidence = Literal["none", "low", "medium", "high"]
Severity = Literal["Low", "Medium", "High", "Critical"]

WhyNull = Literal[
    "one_sided_book",
    "crossed_book",
    "stale_book",
    "no_events",
    "no_trades",
    "insufficient_events",
    "insufficient_buckets",
    "insufficient_bars",
    "insufficient_history",
    "no_support",
    "gap_in_window",
    "no_flow_variance",
    "zero_variance",
    "degenerate",
    "not_fitted",
    "no_gain",
    "flat_range",
    "stop_not_below_entry",
    "outside_price_filter",
    "empty_portfolio",
    "no_route",
    "collecting",
    "upstream_unavailable",
    "stream_late",
]
PastUnit = Literal["minutes", "windows"]
Source = Literal["book", "depth", "aggTrade", "aggTrades", "bookTicker", "klines_1s", "klines", "ticker24h"]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a measure that is still collecting has come, in time and where it counts also in number."""

    have_ms: int
    need_ms: int
    ready_ms: int
    have_n: int | None = None
    need_n: int | None = None


@dataclass(frozen=True, slots=True)
class BaseRate:
    """How often the like was seen in the symbol's own past: in k of n minutes or windows, and a 95 % interval."""

    k: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class NotJudged:
    """How much of its own past a symbol has, how much a judgement needs, and why it cannot where that is not it.

    `usual_of` names the class of markets among which what was seen is usual, where that is known.
    """

    have: int
    need: int
    unit: PastUnit = "minutes"
    why: WhyNull | None = None
    usual_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One member of an answer; money, prices and quantities are text, and no value always says why.

    A judgement adds its rank `p` in the own past and its base rate, or that it is not judged yet.
    """

    value: object
    unit: Unit | None = None
    confidence: Confidence | None = None
    why_null: WhyNull | None = None
    method: str | None = None
    progress: Progress | None = None
    p: float | None = None
    base_rate: BaseRate | None = None
    not_judged: NotJudged | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What an answer rests on: its window, its sample, its sources, and how old and how whole they are.

    A snapshot is a window of no length. `truncated` makes every total a lower bound.
    """

    window: Window
    requested_ms: int = 0
    n: Mapping[str, int]
    coverage: float
    source: tuple[Source, ...]
    as_of_ms: int
    age_ms: int
    depth_levels: tuple[int, int] | None = None
    truncated: bool = False
    gaps: int = 0
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why there is no value, and how far it has come where it is still collecting."""

    why_null: WhyNull
    progress: Progress | None = None
