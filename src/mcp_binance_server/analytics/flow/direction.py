"""Flow direction: imbalance between buys and sells in a window, ranked among earlier windows of the symbol."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from mcp_binance_server.analytics.confidence import Block, Interval, bootstrap_ratio
from mcp_binance_server.analytics.flow.volume import SecondFlow
from mcp_binance_server.analytics.flow.window_scores import ONE_SIDED, FlowScores, one_sidedness
from mcp_binance_server.analytics.metric import WhyNull, Window
from mcp_binance_server.analytics.score_history import Judgement, ScoreHistory
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds

Signal = Literal["BUYERS", "SELLERS", "NO EDGE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowDirection:
    """The rank of a window's imbalance among earlier windows, and the resulting signal. It is not a forecast.

    `share` is the buyers' share with its bootstrap interval over seconds. Parent orders last longer than a second
    (Lillo and Farmer 2004). So this interval is too narrow to separate an imbalance from chance.
    """

    share: Interval | None
    judgement: Judgement | None
    signal: Signal
    trades: int
    seconds: int
    window_ms: int
    why_null: WhyNull | None = None


def flow_direction(
    seconds: Sequence[SecondFlow],
    window: Window,
    past: FlowScores | WhyNull,
    *,
    trades: int | None = None,
    gaps: int = 0,
    thresholds: Thresholds = DEFAULTS,
) -> FlowDirection:
    """Rank a window among earlier windows of the same length.

    If `past` is a reason instead of windows, it becomes `why_null`.
    """
    count = sum(each.trades for each in seconds) if trades is None else trades
    why = _why_null(seconds, count, gaps, thresholds)
    share = None if why else _share(seconds, window.to_ms, thresholds)
    buy, sell = sum(each.buy for each in seconds), sum(each.sell for each in seconds)
    judgement = None
    if why is None and not isinstance(past, FlowScores):
        why = past
    score = one_sidedness(buy, sell)
    if why is None and isinstance(past, FlowScores) and score is not None:
        judgement = ScoreHistory(past.scores).judge(ONE_SIDED, score)
        why = "insufficient_history" if judgement.not_judged else None
    return FlowDirection(
        share=share,
        judgement=judgement,
        signal=_signal(judgement, buy, sell),
        trades=count,
        seconds=len(seconds),
        window_ms=window.to_ms - window.from_ms,
        why_null=why,
    )


def unjudged(direction: FlowDirection, why: WhyNull) -> FlowDirection:
    """Return the measured direction without its judgement, for a reason."""
    return replace(direction, judgement=None, signal=_signal(None, 0, 0), why_null=why)


def _signal(judgement: Judgement | None, buy: float, sell: float) -> Signal:
    if judgement is None or not judgement.is_unusual:
        return "NO EDGE"
    return "BUYERS" if buy > sell else "SELLERS"


def _why_null(seconds: Sequence[SecondFlow], trades: int, gaps: int, thresholds: Thresholds) -> WhyNull | None:
    if not trades:
        return "no_trades"
    if gaps:
        return "gap_in_window"
    # The trades of one second are one draw. With few draws the interval is too narrow.
    enough = trades >= thresholds.min_events and len(seconds) >= thresholds.min_seconds
    return None if enough else "insufficient_events"


def _share(seconds: Sequence[SecondFlow], seed: int, thresholds: Thresholds) -> Interval | None:
    """Return the bootstrap interval over seconds.

    The end of the window is the seed, so equal windows have equal intervals.
    """
    blocks = [Block(each.buy, each.buy + each.sell) for each in seconds]
    return bootstrap_ratio(blocks, seed, resamples=thresholds.resamples)
