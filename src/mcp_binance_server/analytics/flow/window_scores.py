"""One-sidedness of earlier windows, computed from candles. It is the reference for the current window."""

from collections.abc import Sequence
from typing import NamedTuple

from mcp_binance_server.analytics.score_history import Criterion
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.periods import Candle

# With 66 past windows, an alpha of 5 % allows rank 3 of 67. With fewer windows fewer ranks are possible, so a larger
# imbalance is needed.
MOST_WINDOWS = 66
ONE_SIDED = Criterion("flow", floor=0.10, alpha=0.05, least=40, unit="windows")


class FlowScores(NamedTuple):
    """Scores of adjacent windows of one length, oldest first, and the end of the newest window."""

    window_ms: int
    until_ms: int
    scores: tuple[float, ...]


def one_sidedness(buy: float, sell: float) -> float | None:
    """Return the absolute difference of buys and sells as a share of the volume, or None without trades."""
    return abs(buy - sell) / (buy + sell) if buy + sell else None


def past_windows(
    candles: Sequence[Candle], window_ms: int, until_ms: int, *, minimum: int = DEFAULTS.min_events
) -> FlowScores:
    """Split candles into windows, counted back from `until_ms`, and score the newest of them.

    Windows with a missing candle are skipped. Windows with too few trades are skipped too, because they would not be
    judged either.
    """
    windows: dict[int, list[Candle]] = {}
    for each in candles:
        if each.open_time_ms < until_ms:
            windows.setdefault((until_ms - 1 - each.open_time_ms) // window_ms, []).append(each)
    scores = list[float]()
    for back in sorted(windows):
        score = _score(windows[back], window_ms, minimum)
        if score is not None:
            scores.append(score)
        if len(scores) == MOST_WINDOWS:
            break
    return FlowScores(window_ms, until_ms, tuple(scores[::-1]))


def _score(bars: Sequence[Candle], window_ms: int, minimum: int) -> float | None:
    known_ms = sum(each.close_time_ms + 1 - each.open_time_ms for each in bars)
    if known_ms != window_ms or sum(each.trade_count for each in bars) < minimum:
        return None
    buy = sum(float(each.taker_buy_volume) for each in bars)
    return one_sidedness(buy, sum(float(each.volume) for each in bars) - buy)
