"""One window for every indicator: the bars a value stands on, whoever asks for it and whatever else is shown."""

from collections.abc import Callable, Sequence
from typing import Final

from mcp_binance_server.analytics.talipp_face import Line
from mcp_binance_server.domain.candles import Candle

# With the bar that is still open they are what the exchange answers at once.
CLOSED_BARS: Final = 999
ONE_REQUEST: Final = CLOSED_BARS + 1
# So many of the newest values are the window's own where a picture shows more bars than the window can warm up.
NEWEST: Final = 300

Lines = dict[str, Line]


def window(candles: Sequence[Candle], now_ms: int) -> Sequence[Candle]:
    """Return the newest 999 closed bars and the one still open, so that it changes no value at a closed bar."""
    still_open = bool(candles) and candles[-1].close_time_ms >= now_ms
    return candles[-(CLOSED_BARS + still_open) :]


def closed_window(candles: Sequence[Candle], now_ms: int) -> Sequence[Candle]:
    """Return the same window without the bar that is still open."""
    return [candle for candle in window(candles, now_ms) if candle.close_time_ms < now_ms]


def over_window(
    candles: Sequence[Candle], now_ms: int, compute: Callable[[Sequence[Candle]], Lines], *, running: bool = False
) -> Lines:
    """Compute lines over all candles, the newest values of each on the window alone.

    A running sum only means its changes: all of it is counted from where the window begins.
    """
    recent = window(candles, now_ms)
    if len(recent) == len(candles):
        return compute(candles)
    newest, whole = compute(recent), compute(candles)
    if running:
        return {key: _shifted(line, newest[key]) for key, line in whole.items()}
    # What an average began with fades: where the two meet, the difference is below a pixel.
    return {key: [*line[: len(candles) - NEWEST], *newest[key][len(recent) - NEWEST :]] for key, line in whole.items()}


def _shifted(whole: Line, newest: Line) -> Line:
    by = (newest[-1] or 0.0) - (whole[-1] or 0.0)
    return [None if value is None else value + by for value in whole]
