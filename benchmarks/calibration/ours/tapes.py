"""Our own word of a tape: minutes of the tapes before are its past, as candles are in the product."""

from collections.abc import Sequence
from decimal import Decimal

from calibration.records import Tape
from mcp_binance_server.analytics.flow.direction import flow_direction
from mcp_binance_server.analytics.flow.volume import SecondFlow
from mcp_binance_server.analytics.flow.window_scores import MOST_WINDOWS, past_windows
from mcp_binance_server.analytics.metric import Window
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.periods import Candle

PAST_WINDOWS = MOST_WINDOWS
MINUTE_MS = 60_000

# The interval says nothing here, and takes most of the time.
_QUICK = Thresholds(resamples=100)
_ONE = Price(Decimal(1))


def flow_word(past: Sequence[Tape], tape: Tape, seconds: int) -> int | None:
    """Return 1, -1 or 0; None when the window is not judged."""
    length_ms = seconds * 1000
    bars = [bar for at, each in enumerate(past) for bar in _minutes(each, seconds, at * length_ms)]
    before = past_windows(bars, length_ms, len(past) * length_ms)
    said = flow_direction(_seconds(tape), Window(0, length_ms), before, thresholds=_QUICK)
    if said.why_null is not None:
        return None
    return {"ONE-SIDED (bought)": 1, "ONE-SIDED (sold)": -1}.get(said.word, 0)


def _minutes(tape: Tape, seconds: int, from_ms: int) -> list[Candle]:
    count = seconds * 1000 // MINUTE_MS
    bought, sold, trades = [0.0] * count, [0.0] * count, [0] * count
    for ms, size, sell in zip(tape.ms, tape.size, tape.sell, strict=True):
        (sold if sell else bought)[ms // MINUTE_MS] += size
        trades[ms // MINUTE_MS] += 1
    return [_candle(from_ms + at * MINUTE_MS, bought[at], sold[at], trades[at]) for at in range(count)]


def _candle(from_ms: int, bought: float, sold: float, trades: int) -> Candle:
    volume, taken = (Quantity(Decimal(repr(each))) for each in (bought + sold, bought))
    return Candle(from_ms, from_ms + MINUTE_MS - 1, _ONE, _ONE, _ONE, _ONE, volume, volume, trades, taken)


def _seconds(tape: Tape) -> list[SecondFlow]:
    rows: dict[int, SecondFlow] = {}
    for ms, size, sell in zip(tape.ms, tape.size, tape.sell, strict=True):
        _, buy, sold, count = rows.get(ms // 1000, SecondFlow(0, 0.0, 0.0, 0))
        rows[ms // 1000] = SecondFlow(ms // 1000, buy + (0 if sell else size), sold + (size if sell else 0), count + 1)
    return [rows[second] for second in sorted(rows)]
