"""Metadata of a measure: window, sample, coverage, and the reason for a missing value."""

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
    "busier_than_any",
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
    "contradiction",
]
PastUnit = Literal["minutes", "windows"]
Source = Literal["book", "depth", "aggTrade", "aggTrades", "bookTicker", "klines_1s", "klines", "ticker24h"]


@dataclass(frozen=True, slots=True)
class Window:
    """Time range of the inputs."""

    from_ms: int
    to_ms: int

    @classmethod
    def of(cls, candles: Sequence[Candle]) -> "Window | None":
        return cls(candles[0].open_time_ms, candles[-1].close_time_ms) if candles else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One number with its unit, method and sample size. If it is missing, `why_null` is the reason."""

    value: float | None
    unit: Unit
    n: int
    method: str
    why_null: WhyNull | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a measure that still collects data: time, and the number of items if one is required."""

    have_ms: int
    need_ms: int
    ready_ms: int
    have_n: int | None = None
    need_n: int | None = None


@dataclass(frozen=True, slots=True)
class BaseRate:
    """Frequency of scores at least as high in the symbol's history: k of n minutes or windows, with a 95 % interval."""

    k: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class NotJudged:
    """Why a score is not judged yet: `have` of the `need` required past minutes or windows.

    `why` is any other reason. `usual_of` names the market class in which the score is usual, if known.
    """

    have: int
    need: int
    unit: PastUnit = "minutes"
    why: WhyNull | None = None
    usual_of: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One field of an answer.

    Money, prices and quantities are text. A missing value always has a reason. A judged score also has its rank `p` in
    the symbol's history and its base rate. A score that is not judged has the reason.
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
    """Data that an answer is based on: window, sample, sources, age and completeness.

    A snapshot has a window of length zero. `truncated` means that every total is a lower bound.
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
    """The reason for a missing value. `progress` is set while data is being collected."""

    why_null: WhyNull
    progress: Progress | None = None
