"""Candles of every interval, from the same trades: klines and uiKlines."""

from mcp_binance_server.simulator import refusals
from mcp_binance_server.simulator.endpoints import Call, Endpoint, flat
from mcp_binance_server.simulator.history import LISTED_MS, History
from mcp_binance_server.simulator.intervals import Interval, known, zone_offset_ms
from mcp_binance_server.simulator.portfolio import ZERO


def klines(call: Call) -> object:
    """Answer klines; a span without trades repeats the close before it."""
    symbol = call.symbol()
    name = call.params.required("interval")
    if not known(name):
        raise refusals.bad_interval()
    limit = call.params.limit(500, 1000)
    start_ms, end_ms = call.span()
    offset_ms = zone_offset_ms(call.params.text("timeZone") or "0")
    if offset_ms is None:
        raise refusals.bad_value("timeZone")
    interval = Interval(name, offset_ms)
    history = call.market.history(symbol)
    until = history.until(call.now_ms)
    openings = _openings(interval, limit, start_ms, min(until - 1, until if end_ms is None else end_ms))
    rows = [_row(history, opening, interval.following(opening), until) for opening in openings]
    return [row for row in rows if row is not None]


def _openings(interval: Interval, limit: int, start_ms: int | None, newest_ms: int) -> list[int]:
    oldest = interval.opening(LISTED_MS)
    if start_ms is not None and start_ms > newest_ms:
        return []
    if start_ms is not None:
        opening = max(oldest, interval.opening(max(start_ms, LISTED_MS) - 1))
        if opening < start_ms:
            opening = interval.following(opening)
        forward: list[int] = []
        while opening <= newest_ms and len(forward) < limit:
            forward.append(opening)
            opening = interval.following(opening)
        return forward
    backward: list[int] = []
    opening = interval.opening(newest_ms)
    while opening >= oldest and len(backward) < limit:
        backward.append(opening)
        opening = interval.preceding(opening)
    return backward[::-1]


def _row(history: History, opening_ms: int, next_ms: int, until_ms: int) -> list[object] | None:
    symbol = history.symbol
    candle = history.window(opening_ms, min(next_ms, until_ms))
    if candle is None:
        before = history.last(opening_ms)
        if before is None:
            return None
        price, nothing = symbol.price(before.price), symbol.quantity(0)
        return [opening_ms, price, price, price, price, nothing, next_ms - 1, ZERO, 0, nothing, ZERO, "0"]
    return [
        opening_ms,
        symbol.price(candle.open),
        symbol.price(candle.high),
        symbol.price(candle.low),
        symbol.price(candle.close),
        symbol.quantity(candle.lots),
        next_ms - 1,
        symbol.value(candle.value),
        candle.trades,
        symbol.quantity(candle.buy_lots),
        symbol.value(candle.buy_value),
        "0",
    ]


NAMES = ("symbol", "interval", "startTime", "endTime", "timeZone", "limit")
KLINES = (
    Endpoint("/api/v3/klines", NAMES, flat(2), klines),
    Endpoint("/api/v3/uiKlines", NAMES, flat(2), klines),
)
