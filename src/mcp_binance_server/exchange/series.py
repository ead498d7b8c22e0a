"""Candles as plain numbers, for computations over hundreds of symbols."""

from collections.abc import Sequence

from mcp_binance_server.exchange.wire import KlineWire

SeriesRow = tuple[int, float, float, float, float, float]
"""Open time in milliseconds; open, high, low and close; volume in the quote asset."""


def read_series(rows: Sequence[KlineWire]) -> list[SeriesRow]:
    """Decode candles, oldest first; the last one may be unfinished."""
    return [
        (
            each.open_time,
            float(each.open),
            float(each.high),
            float(each.low),
            float(each.close),
            float(each.quote_volume),
        )
        for each in rows
    ]
