"""Adapter for the library talipp: conversion of candles and values, calculation windows, and anchors."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from importlib import import_module
from typing import Any, Final, Literal, get_args

from mcp_binance_server.domain.periods import Candle

Line = list[float | None]

# These bars and the open bar fit into one answer of the exchange.
CLOSED_BARS: Final = 999
ONE_REQUEST: Final = CLOSED_BARS + 1
# Minimum number of newest values from the window of one request, even if a line needs more warm-up.
NEWEST: Final = 300

Lines = dict[str, Line]

Anchor = Literal["day", "week", "month", "year"]
ANCHORS: tuple[Anchor, ...] = get_args(Anchor)
DAY_MS = 86_400_000
_MONDAY_MS = 4 * DAY_MS  # the first Monday after the epoch


def library() -> Any:  # noqa: ANN401 - the library ships no types; every line leaves as a list of floats
    """Return talipp's indicators. The import costs a tenth of a second, and most runs never need it."""
    return import_module("talipp.indicators")


def column(rows: Iterable[object], name: str) -> Line:
    """Return one attribute of each row. A row is None while warming up."""
    return [None if row is None else getattr(row, name) for row in rows]


def wilder(values: list[float], n: int) -> Line:
    """Return Wilder's smoothed average, seeded with the SMA of the first n values."""
    # Equal to talipp's SMMA to the last digit.
    if len(values) < n:
        return [None] * len(values)
    average = sum(values[:n]) / n
    line: Line = [*([None] * (n - 1)), average]
    for value in values[n:]:
        average = (average * (n - 1) + value) / n
        line.append(average)
    return line


def after(whole: Sequence[object], tail: Line) -> Line:
    """Pad the start of a line with None to the length of its series."""
    return [*([None] * (len(whole) - len(tail))), *tail]


def bars_of(candles: Sequence[Candle]) -> list[Any]:
    """Convert candles to talipp's bars."""
    bar = import_module("talipp.ohlcv").OHLCV
    return [
        bar(float(each.open), float(each.high), float(each.low), float(each.close), float(each.volume))
        for each in candles
    ]


def window(candles: Sequence[Candle], now_ms: int, *, pages: int = 1) -> Sequence[Candle]:
    """Return the newest 999 closed bars and the open one.

    The number of closed bars is fixed, so that values at closed bars do not depend on the open bar.
    """
    still_open = bool(candles) and candles[-1].close_time_ms >= now_ms
    return candles[-(pages * ONE_REQUEST - 1 + still_open) :]


def closed_window(candles: Sequence[Candle], now_ms: int) -> Sequence[Candle]:
    """Return the window without the open bar."""
    return [candle for candle in window(candles, now_ms) if candle.close_time_ms < now_ms]


def own_values(warm_up: int) -> int:
    """Return the number of newest values that one window provides: those after the warm-up, but at least 300."""
    return max(NEWEST, CLOSED_BARS - warm_up) if warm_up <= ONE_REQUEST else 0


def over_window(
    candles: Sequence[Candle], now_ms: int, compute: Callable[[Sequence[Candle]], Lines], *, warm_up: int
) -> Lines:
    """Compute lines over the newest window. Older values come from a window of two pages.

    The border between both depends only on the warm-up, never on the number of bars shown. So the newest values are
    equal in every answer.
    """
    recent, longer = window(candles, now_ms), window(candles, now_ms, pages=2)
    unseen: Line = [None] * (len(candles) - len(longer))
    older = compute(longer)
    if len(recent) == len(longer):
        return {key: [*unseen, *line] for key, line in older.items()}
    newest, own = compute(recent), own_values(warm_up)
    return {
        key: [*unseen, *line[: len(longer) - own], *_known(newest[key][len(recent) - own :], line[len(longer) - own :])]
        for key, line in older.items()
    }


def _known(newest: Line, older: Line) -> Line:
    # A simple average longer than one window has no value there. On two pages its value is exact.
    return [was if now is None else now for now, was in zip(newest, older, strict=True)]


def usual_anchor(span_ms: int) -> Anchor:
    """Return the default anchor for bars of this length."""
    return "day" if span_ms < DAY_MS else "month"


def period_start(opened_ms: int, anchor: Anchor) -> int:
    """Return the start of the day, week, month or year in which a bar opened."""
    if anchor == "day":
        return opened_ms - opened_ms % DAY_MS
    if anchor == "week":
        return opened_ms - (opened_ms - _MONDAY_MS) % (7 * DAY_MS)
    at = datetime.fromtimestamp(opened_ms / 1000, UTC)
    return int(datetime(at.year, at.month if anchor == "month" else 1, 1, tzinfo=UTC).timestamp()) * 1000


def span_of(candle: Candle) -> int:
    """Return the length of a bar in milliseconds."""
    return candle.close_time_ms + 1 - candle.open_time_ms


def anchor_of(candle: Candle, named: Anchor | None = None) -> int:
    """Return the start of the anchored period of a bar."""
    return period_start(candle.open_time_ms, named or usual_anchor(span_of(candle)))


def vwap(candles: Sequence[Candle], named: Anchor | None = None) -> Line:
    """Return the volume-weighted average price (VWAP) since the anchor, None before the first trade.

    It is quote volume over base volume. So it is exact and equal on every interval; an average of (high+low+close)/3 is
    only an estimate.
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
