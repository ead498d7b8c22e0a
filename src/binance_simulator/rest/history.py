"""Trades and klines."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby, islice

import msgspec

from binance_simulator import refusals
from binance_simulator.futures.listing import Contract
from binance_simulator.market.candles import Candle, Trade
from binance_simulator.market.history import LISTED_MS
from binance_simulator.market.listing import Symbol
from binance_simulator.market.portfolio import ZERO
from binance_simulator.market.source import Chronicle, Interval, known, zone_offset_ms
from binance_simulator.rest.endpoints import Call, Endpoint, flat
from binance_simulator.rest.signing import Params

DEEPEST = 5000


def klines(call: Call) -> object:
    """Answer klines. A span without trades repeats the previous close."""
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
    chosen = openings(interval, limit, start_ms, min(until - 1, until if end_ms is None else end_ms))
    if not chosen:
        return []
    # Cache closed candles, because they are the same in every market with this history.
    return _written(history, interval, chosen[0], len(chosen), min(until, interval.following(chosen[-1])))


@lru_cache(maxsize=256)
def _written(history: Chronicle, interval: Interval, first_ms: int, count: int, until_ms: int) -> msgspec.Raw:
    rows: list[list[object]] = []
    opening = first_ms
    for _ in range(count):
        following = interval.following(opening)
        row = _row(history, opening, following, until_ms)
        if row is not None:
            rows.append(row)
        opening = following
    return msgspec.Raw(msgspec.json.encode(rows))


def openings(interval: Interval, limit: int, start_ms: int | None, newest_ms: int) -> list[int]:
    """Return the opening times of the requested candles, oldest first."""
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


def _row(history: Chronicle, opening_ms: int, next_ms: int, until_ms: int) -> list[object] | None:
    symbol = history.symbol
    candle = history.window(opening_ms, min(next_ms, until_ms))
    if candle is None:
        before = history.last(opening_ms)
        if before is None:
            return None
        price, nothing = symbol.price(before.price), symbol.quantity(0)
        return [opening_ms, price, price, price, price, nothing, next_ms - 1, ZERO, 0, nothing, ZERO, "0"]
    return candle_row(symbol, candle, opening_ms, next_ms)


def candle_row(unit: Symbol | Contract, candle: Candle, opening_ms: int, next_ms: int) -> list[object]:
    """Return a candle in the row format of both hosts."""
    return [
        opening_ms,
        unit.price(candle.open),
        unit.price(candle.high),
        unit.price(candle.low),
        unit.price(candle.close),
        unit.quantity(candle.lots),
        next_ms - 1,
        unit.value(candle.value),
        candle.trades,
        unit.quantity(candle.buy_lots),
        unit.value(candle.buy_value),
        "0",
    ]


NAMES = ("symbol", "interval", "startTime", "endTime", "timeZone", "limit")
KLINES = (
    Endpoint("/api/v3/klines", NAMES, flat(2), klines),
    Endpoint("/api/v3/uiKlines", NAMES, flat(2), klines),
)


def depth(call: Call) -> object:
    """Answer depth."""
    symbol, status = call.symbol(), call.status()
    if status is not None and symbol.status != status:
        raise refusals.status_mismatch()
    stale = call.exchange.hub.faults.take_stale(symbol.name)
    at_ms = call.now_ms if stale is None else call.now_ms - stale.behind_ms
    snapshot, symbol = call.exchange.depth(symbol, call.params.limit(100, DEEPEST), at_ms), call.market.unit(symbol)
    return {
        "lastUpdateId": snapshot.update_id,
        "bids": [(symbol.price(price), symbol.quantity(lots)) for price, lots in snapshot.bids],
        "asks": [(symbol.price(price), symbol.quantity(lots)) for price, lots in snapshot.asks],
    }


def recent_trades(call: Call) -> object:
    """Answer trades: the newest ones, oldest first."""
    symbol, limit = call.symbol(), call.params.limit(500, 1000)
    tape = call.market.tape(symbol)
    newest = list(islice(tape.backward(tape.until(call.now_ms)), limit))
    return [_trade_body(call.market.unit(symbol), trade) for trade in reversed(newest)]


def historical_trades(call: Call) -> object:
    """Answer historicalTrades: from an ID on, or the newest ones."""
    start = call.params.whole("fromId")
    if start is None:
        return recent_trades(call)
    symbol, limit = call.symbol(), call.params.limit(500, 1000)
    tape = call.market.tape(symbol)
    following = tape.forward(tape.time_of_trade(start), tape.until(call.now_ms))
    return [
        _trade_body(call.market.unit(symbol), trade)
        for trade in islice((one for one in following if one.id >= start), limit)
    ]


def aggregate_trades(call: Call) -> object:
    """Answer aggTrades: from an ID, from a time, up to a time, or the newest ones."""
    symbol, limit = call.symbol(), call.params.limit(500, 1000)
    start, (from_ms, to_ms) = call.params.whole("fromId"), call.span()
    if start is not None and (from_ms is not None or to_ms is not None):
        raise refusals.bad_combination()
    tape = call.market.tape(symbol)
    until = tape.until(call.now_ms)
    end = until if to_ms is None else min(until, to_ms + 1)
    if start is not None:
        following = tape.forward(tape.time_of_aggregate(start), end)
        groups = islice(grouped(trade for trade in following if trade.aggregate >= start), limit)
    elif from_ms is not None:
        groups = islice(grouped(tape.forward(max(from_ms, LISTED_MS), end)), limit)
    else:
        newest = list(islice(grouped(tape.backward(end)), limit))
        groups = iter([group[::-1] for group in reversed(newest)])
    return [_aggregate_body(call.market.unit(symbol), group) for group in groups]


def grouped(trades: Iterable[Trade]) -> Iterable[list[Trade]]:
    """Group the trades by aggregate."""
    return (list(group) for _, group in groupby(trades, key=lambda trade: trade.aggregate))


def _trade_body(symbol: Symbol, trade: Trade) -> dict[str, object]:
    return {
        "id": trade.id,
        "price": symbol.price(trade.price),
        "qty": symbol.quantity(trade.lots),
        "quoteQty": symbol.value(trade.price * trade.lots),
        "time": trade.time_ms,
        "isBuyerMaker": trade.buyer_is_maker,
        "isBestMatch": True,
    }


def _aggregate_body(symbol: Symbol, group: list[Trade]) -> dict[str, object]:
    first = group[0]
    return {
        "a": first.aggregate,
        "p": symbol.price(first.price),
        "q": symbol.quantity(sum(trade.lots for trade in group)),
        "f": first.id,
        "l": group[-1].id,
        "T": first.time_ms,
        "m": first.buyer_is_maker,
        "M": True,
    }


def _depth_weight(params: Params) -> int:
    text = params.peek("limit") or ""
    limit = int(text) if text.isdecimal() else 100
    return next(weight for most, weight in ((100, 5), (500, 25), (1000, 50), (float("inf"), 250)) if limit <= most)


def block_trades(call: Call) -> object:
    """Answer historicalBlockTrades: no symbol has any."""
    call.symbol()
    if call.params.whole("fromId") is None:
        raise refusals.missing("fromId")
    call.params.limit(500, 1000)
    return []


TRADES = (
    Endpoint("/api/v3/historicalBlockTrades", ("symbol", "fromId", "limit"), flat(25), block_trades),
    Endpoint("/api/v3/depth", ("symbol", "limit", "symbolStatus"), _depth_weight, depth),
    Endpoint("/api/v3/trades", ("symbol", "limit"), flat(25), recent_trades),
    Endpoint("/api/v3/historicalTrades", ("symbol", "limit", "fromId"), flat(25), historical_trades),
    Endpoint("/api/v3/aggTrades", ("symbol", "limit", "fromId", "startTime", "endTime"), flat(4), aggregate_trades),
)
