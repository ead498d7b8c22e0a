"""Where a running average begins anew: with the UTC day, with the month on bars of a day and more, or as named."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal, get_args

from mcp_binance_server.analytics.talipp_face import Line
from mcp_binance_server.domain.candles import Candle

Anchor = Literal["day", "week", "month", "year"]
ANCHORS: tuple[Anchor, ...] = get_args(Anchor)
DAY_MS = 86_400_000
_MONDAY_MS = 4 * DAY_MS  # the first Monday after the epoch


def usual_anchor(span_ms: int) -> Anchor:
    """Return the anchor of bars that last so long."""
    return "day" if span_ms < DAY_MS else "month"


def period_start(opened_ms: int, anchor: Anchor) -> int:
    """Return when the day, week, month or year began that a bar opened in."""
    if anchor == "day":
        return opened_ms - opened_ms % DAY_MS
    if anchor == "week":
        return opened_ms - (opened_ms - _MONDAY_MS) % (7 * DAY_MS)
    at = datetime.fromtimestamp(opened_ms / 1000, UTC)
    return int(datetime(at.year, at.month if anchor == "month" else 1, 1, tzinfo=UTC).timestamp()) * 1000


def span_of(candle: Candle) -> int:
    """Return how long a bar lasts."""
    return candle.close_time_ms + 1 - candle.open_time_ms


def anchor_of(candle: Candle, named: Anchor | None = None) -> int:
    """Return where the average at a bar begins."""
    return period_start(candle.open_time_ms, named or usual_anchor(span_of(candle)))


def vwap(candles: Sequence[Candle], named: Anchor | None = None) -> Line:
    """Return quote volume over base volume since the anchor, None before the first trade.

    Exact and the same on every interval, where an average of (high+low+close)/3 only estimates.
    """
    line: Line = []
    began, base, quote = -1, Decimal(0), Decimal(0)
    for candle in candles:
        start = anchor_of(candle, named)
        if start != began:
            began, base, quote = start, Decimal(0), Decimal(0)
        base, quote = base + candle.volume, quote + candle.quote_volume
        line.append(float(quote / base) if base else None)
    return line
