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

FlowWord = Literal["ONE-SIDED (bought)", "ONE-SIDED (sold)", "USUAL", "NOT JUDGED"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowDirection:
    """The rank of a window's imbalance among earlier windows, and the resulting word. It is not a forecast.

    `share` is the buyers' share with its bootstrap interval over seconds. Parent orders last longer than a second
    (Lillo and Farmer 2004). So this interval is too narrow to separate an imbalance from chance.
    """

    share: Interval | None
    judgement: Judgement | None
    word: FlowWord
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
        word=_word(judgement, buy, sell),
        trades=count,
        seconds=len(seconds),
        window_ms=window.to_ms - window.from_ms,
        why_null=why,
    )


def unjudged(direction: FlowDirection, why: WhyNull) -> FlowDirection:
    """Return the measured direction without its judgement, for a reason."""
    return replace(direction, judgement=None, word="NOT JUDGED", why_null=why)


def _word(judgement: Judgement | None, buy: float, sell: float) -> FlowWord:
    if judgement is None or judgement.not_judged is not None:
        return "NOT JUDGED"
    if not judgement.is_unusual:
        return "USUAL"
    return "ONE-SIDED (bought)" if buy > sell else "ONE-SIDED (sold)"


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
