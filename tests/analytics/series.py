"""Rows of candles as a screen takes them, beside the candles they are of."""

from collections.abc import Sequence

from analytics.samples import HOUR_MS
from mcp_binance_server.analytics.market.scan.columns import SeriesLine
from mcp_binance_server.domain.periods import Candle


def rows_of(candles: Sequence[Candle]) -> list[SeriesLine]:
    return [
        (
            each.open_time_ms,
            float(each.open),
            float(each.high),
            float(each.low),
            float(each.close),
            float(each.quote_volume),
        )
        for each in candles
    ]


def end_of(rows: Sequence[SeriesLine], interval_ms: int = HOUR_MS) -> int:
    """Return when the last row closes."""
    return rows[-1][0] + interval_ms
