"""How one-sided the flow of earlier windows was, from candles: what a window of now is ranked among."""

from collections.abc import Sequence
from typing import NamedTuple

from mcp_binance_server.analytics.own_past import Criterion
from mcp_binance_server.analytics.thresholds import DEFAULTS
from mcp_binance_server.domain.periods import Candle

# Three of 67 are the most that 5 % allow: with fewer windows the step is coarser, and a lean has to be larger.
MOST_WINDOWS = 66
ONE_SIDED = Criterion("flow", floor=0.10, alpha=0.05, least=40, unit="windows")


class FlowPast(NamedTuple):
    """The scores of windows of one length that do not overlap, oldest first, and where the newest of them ended."""

    window_ms: int
    until_ms: int
    scores: tuple[float, ...]


def one_sidedness(buy: float, sell: float) -> float | None:
    """Return by how much one side led, as a share of all that was taken; of no trades nothing is known."""
    return abs(buy - sell) / (buy + sell) if buy + sell else None


def past_windows(
    candles: Sequence[Candle], window_ms: int, until_ms: int, *, minimum: int = DEFAULTS.min_events
) -> FlowPast:
    """Cut candles into windows back from a moment, and score the newest that could have been judged themselves.

    A window with a candle missing is none, and one with too few trades is not like the one it would be compared with.
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
    return FlowPast(window_ms, until_ms, tuple(scores[::-1]))


def _score(bars: Sequence[Candle], window_ms: int, minimum: int) -> float | None:
    known_ms = sum(each.close_time_ms + 1 - each.open_time_ms for each in bars)
    if known_ms != window_ms or sum(each.trade_count for each in bars) < minimum:
        return None
    buy = sum(float(each.taker_buy_volume) for each in bars)
    return one_sidedness(buy, sum(float(each.volume) for each in bars) - buy)
