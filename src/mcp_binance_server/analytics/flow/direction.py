"""Which side presses: a test against chance, and the volume-synchronised imbalance (VPIN)."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import NormalDist, fmean
from typing import Literal

from mcp_binance_server.analytics.confidence import Block, Interval, bootstrap_ratio, confidence
from mcp_binance_server.analytics.envelope import Confidence, WhyNull, Window
from mcp_binance_server.analytics.flow.volume import SecondFlow
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import Trade

Direction = Literal["STRONG_BUY", "MODERATE_BUY", "NEUTRAL", "MODERATE_SELL", "STRONG_SELL", "UNKNOWN"]
Signal = Literal["LONG BIAS", "SHORT BIAS", "NO EDGE"]

BALANCED = 0.5

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowDirection:
    """The buyers' share of taker volume, its interval, and what may be said of it."""

    share: Interval | None
    confidence: Confidence
    direction: Direction
    signal: Signal
    trades: int
    seconds: int
    why_null: WhyNull | None = None


def flow_direction(
    seconds: Sequence[SecondFlow], window: Window, *, gaps: int = 0, thresholds: Thresholds = DEFAULTS
) -> FlowDirection:
    """Judge a window by a bootstrap over its seconds, seeded by its end: equal inputs give equal words."""
    trades = sum(each.trades for each in seconds)
    why = _why_null(seconds, trades, gaps, thresholds)
    if why is not None:
        return FlowDirection(
            share=None, confidence="none", direction="UNKNOWN", signal="NO EDGE", trades=trades,
            seconds=len(seconds), why_null=why,
        )  # fmt: skip
    share = _share(seconds, window.to_ms, thresholds)
    trust = "none" if share is None else _confidence(share, seconds, window, trades, thresholds)
    buy, sell = sum(each.buy for each in seconds), sum(each.sell for each in seconds)
    return FlowDirection(
        share=share,
        confidence=trust,
        direction=direction_of(buy, sell, share, edges=thresholds.direction_edges),
        signal=_signal(share, trust),
        trades=trades,
        seconds=len(seconds),
    )


def direction_of(
    buy: float, sell: float, share: Interval | None, *, edges: Sequence[float] = DEFAULTS.direction_edges
) -> Direction:
    """Name the ratio of bought to sold, unless the interval of the buyers' share allows for an even market."""
    if share is None or not buy + sell:
        return "UNKNOWN"
    if not share.side_of(BALANCED):
        return "NEUTRAL"
    strong_sell, sell_edge, buy_edge, strong_buy = edges
    ratio = buy / sell if sell else inf
    if ratio > strong_buy:
        return "STRONG_BUY"
    if ratio >= buy_edge:
        return "MODERATE_BUY"
    if ratio >= sell_edge:
        return "NEUTRAL"
    return "MODERATE_SELL" if ratio >= strong_sell else "STRONG_SELL"


def _why_null(seconds: Sequence[SecondFlow], trades: int, gaps: int, thresholds: Thresholds) -> WhyNull | None:
    if not trades:
        return "no_trades"
    if gaps:
        return "gap_in_window"
    # All trades of one second are one draw: an interval of few draws is narrow for the wrong reason.
    enough = trades >= thresholds.min_events and len(seconds) >= thresholds.min_seconds
    return None if enough else "insufficient_events"


def _confidence(
    share: Interval, seconds: Sequence[SecondFlow], window: Window, trades: int, thresholds: Thresholds
) -> Confidence:
    halves = list[Interval | None]()
    if share.side_of(BALANCED):  # only a direction needs its halves, and each costs as much as the whole
        middle = (window.from_ms + window.to_ms) // 2000
        parts = [each for each in seconds if each.second < middle], [each for each in seconds if each.second >= middle]
        least = thresholds.min_seconds // 2
        halves = [_share(part, window.to_ms, thresholds) if len(part) >= least else None for part in parts]
    return confidence(share, halves, BALANCED, n=trades, minimum=thresholds.min_events)


def _share(seconds: Sequence[SecondFlow], seed: int, thresholds: Thresholds) -> Interval | None:
    blocks = [Block(each.buy, each.buy + each.sell) for each in seconds]
    return bootstrap_ratio(blocks, seed, resamples=thresholds.resamples)


def _signal(share: Interval | None, trust: Confidence) -> Signal:
    if share is None or trust in {"none", "low"}:
        return "NO EDGE"
    return "LONG BIAS" if share.side_of(BALANCED) > 0 else "SHORT BIAS"


@dataclass(frozen=True, slots=True)
class Vpin:
    """The mean share by which one side led in the last buckets; a number, not a verdict on who traded."""

    value: float | None
    buckets: int
    bucket_volume: float
    leftover: float
    method: Literal["vpin_true_flags"] = "vpin_true_flags"
    why_null: WhyNull | None = None


def vpin(trades: Iterable[Trade], bucket_volume: float, buckets: int = DEFAULTS.vpin_buckets) -> Vpin:
    """Fill buckets of equal volume in order of time, splitting trades at their edges, and average the last ones.

    Every trade carries its true side. Bulk classification guesses it from prices and is worse than a tick rule
    (Andersen and Bondarenko 2013).
    """
    if bucket_volume <= 0:
        return Vpin(None, 0, bucket_volume, 0.0, why_null="insufficient_history")
    leads = deque[float](maxlen=buckets)
    room, lead, full = bucket_volume, 0.0, 0
    for trade in trades:
        sign = -1.0 if trade.buyer_is_maker else 1.0
        left = float(trade.quantity)
        while left > 0:
            taken = min(left, room)
            lead += sign * taken
            left -= taken
            room -= taken
            if room <= bucket_volume * _ROUNDING:
                leads.append(abs(lead))
                room, lead, full = bucket_volume, 0.0, full + 1
    leftover = bucket_volume - room
    if full < buckets:
        return Vpin(None, full, bucket_volume, leftover, why_null="insufficient_buckets")
    return Vpin(sum(leads) / (buckets * bucket_volume), full, bucket_volume, leftover)


def bulk_shares(moves: Sequence[float], deviation: float) -> tuple[float, ...]:
    """Guess the bought share of each bucket from its price move: for comparison only, every trade here has a side."""
    return tuple(map(NormalDist(0.0, deviation).cdf, moves))


def vpin_of_shares(shares: Sequence[float]) -> float:
    """Average by how much one side led in buckets of equal volume."""
    return fmean(abs(2 * share - 1) for share in shares)
