"""The only door to talipp: loaded on first use, lines as long as their input, None while warming up."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from mcp_binance_server.domain.candles import Candle

Line = list[float | None]


def library() -> Any:  # noqa: ANN401 - the library ships no types; every line leaves as a list of floats
    """Return talipp's indicators; they cost a tenth of a second, and most starts never ask for one."""
    return import_module("talipp.indicators")


def column(rows: Iterable[object], name: str) -> Line:
    """Take one member out of rows that are None while warming up."""
    return [None if row is None else getattr(row, name) for row in rows]


def wilder(values: list[float], n: int) -> Line:
    """Average by Wilder's smoothing, seeded with the simple average of the first n values."""
    return list(library().SMMA(n, values).output_values)


def after(whole: Sequence[object], tail: Line) -> Line:
    """Fill a line that starts late with None, so that it is as long as the series it belongs to."""
    return [*([None] * (len(whole) - len(tail))), *tail]


def bars_of(candles: Sequence[Candle]) -> list[Any]:
    """Return the candles as talipp takes them."""
    bar = import_module("talipp.ohlcv").OHLCV
    return [
        bar(float(each.open), float(each.high), float(each.low), float(each.close), float(each.volume))
        for each in candles
    ]
