"""Events of each market stream. They come from the same market as the REST API."""

from collections.abc import Callable, Mapping

import msgspec

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.market.listing import Symbol
from binance_simulator.market.portfolio import ZERO
from binance_simulator.market.source import Event, Span, Stream
from binance_simulator.rest.history import grouped
from binance_simulator.rest.tickers import day_body, day_figures

Body = dict[str, object]

TICKER_NAMES = {
    "p": "priceChange",
    "P": "priceChangePercent",
    "w": "weightedAvgPrice",
    "x": "prevClosePrice",
    "c": "lastPrice",
    "Q": "lastQty",
    "b": "bidPrice",
    "B": "bidQty",
    "a": "askPrice",
    "A": "askQty",
    "o": "openPrice",
    "h": "highPrice",
    "l": "lowPrice",
    "v": "volume",
    "q": "quoteVolume",
    "O": "openTime",
    "C": "closeTime",
    "F": "firstId",
    "L": "lastId",
    "n": "count",
}


def events_of(exchange: SimulatedExchange, stream: Stream, span: Span) -> tuple[Event, ...]:
    """Return the events of a stream at the end of a span, oldest first.

    All connections share an encoded event.
    """
    return exchange.said.get((stream.name, span), lambda: _made(exchange, stream, span))


def _made(exchange: SimulatedExchange, stream: Stream, span: Span) -> tuple[Event, ...]:
    source = exchange.stage.market.sources.get(stream.symbol.name)
    own = None if source is None else source.events(stream, span)
    if own is not None:
        return tuple(own)
    bodies = MAKERS[stream.kind](exchange, stream, span)
    return tuple(Event(msgspec.json.encode(body).decode(), _ids(body)) for body in bodies)


def _ids(body: Body) -> int:
    first, last = body.get("U", 0), body.get("u", 0)
    return last - first + 1 if isinstance(first, int) and isinstance(last, int) else 1


def _depth(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    symbol = exchange.stage.market.unit(stream.symbol)
    changes = exchange.changes(symbol, span)
    if changes is None:
        return []
    event = _head("depthUpdate", symbol, span) | {
        "U": changes.first_id,
        "u": changes.last_id,
        "b": _levels(symbol, sorted(changes.bids.items(), reverse=True)),
        "a": _levels(symbol, sorted(changes.asks.items())),
    }
    return [event]


def _partial(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    symbol = exchange.stage.market.unit(stream.symbol)
    depth = exchange.depth(symbol, stream.levels, span.end_ms)
    if not depth.bids and not depth.asks:
        return []
    bids, asks = _levels(symbol, depth.bids), _levels(symbol, depth.asks)
    return [{"lastUpdateId": depth.update_id, "bids": bids, "asks": asks}]


def _book_ticker(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    market = exchange.stage.market
    symbol = market.unit(stream.symbol)
    top = exchange.top(symbol, span.end_ms)
    if top is None or top == exchange.top(symbol, span.start_ms):
        return []
    event: Body = {
        "u": market.update_id(symbol, span.end_ms),
        "s": symbol.name,
        "b": symbol.price(top.bid[0]),
        "B": symbol.quantity(top.bid[1]),
        "a": symbol.price(top.ask[0]),
        "A": symbol.quantity(top.ask[1]),
    }
    return [event]


def _aggregate_trades(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    symbol = exchange.stage.market.unit(stream.symbol)
    tape = exchange.stage.market.tape(symbol)
    return [
        _head("aggTrade", symbol, span)
        | {
            "a": group[0].aggregate,
            "p": symbol.price(group[0].price),
            "q": symbol.quantity(sum(trade.lots for trade in group)),
            "f": group[0].id,
            "l": group[-1].id,
            "T": group[0].time_ms,
            "m": group[0].buyer_is_maker,
            "M": True,
        }
        for group in grouped(tape.forward(span.start_ms + 1, tape.until(span.end_ms)))
    ]


def _trades(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    symbol = exchange.stage.market.unit(stream.symbol)
    tape = exchange.stage.market.tape(symbol)
    return [
        _head("trade", symbol, span)
        | {
            "t": trade.id,
            "p": symbol.price(trade.price),
            "q": symbol.quantity(trade.lots),
            "T": trade.time_ms,
            "m": trade.buyer_is_maker,
            "M": True,
        }
        for trade in tape.forward(span.start_ms + 1, tape.until(span.end_ms))
    ]


def _klines(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    symbol, interval = stream.symbol, stream.interval
    history = exchange.stage.market.history(symbol)
    if interval is None or history.ended_ms is not None:
        return []
    # At the end of a candle, send its last state. The next candle is sent one period later.
    opening_ms = interval.opening(span.end_ms - 1)
    next_ms = interval.following(opening_ms)
    candle = history.window(opening_ms, min(next_ms, span.end_ms + 1))
    before = history.last(opening_ms)
    price = symbol.price(0 if before is None else before.price)
    kline: Body = {
        "t": opening_ms,
        "T": next_ms - 1,
        "s": symbol.name,
        "i": stream.interval_name,
        "f": -1 if candle is None else candle.first_trade,
        "L": -1 if candle is None else candle.first_trade + candle.trades - 1,
        "o": price if candle is None else symbol.price(candle.open),
        "c": price if candle is None else symbol.price(candle.close),
        "h": price if candle is None else symbol.price(candle.high),
        "l": price if candle is None else symbol.price(candle.low),
        "v": symbol.quantity(0 if candle is None else candle.lots),
        "n": 0 if candle is None else candle.trades,
        "x": next_ms <= span.end_ms,
        "q": ZERO if candle is None else symbol.value(candle.value),
        "V": symbol.quantity(0 if candle is None else candle.buy_lots),
        "Q": ZERO if candle is None else symbol.value(candle.buy_value),
        "B": "0",
    }
    return [_head("kline", symbol, span) | {"k": kline}]


def _mini_ticker(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    figures = day_figures(exchange, stream.symbol, span.end_ms)
    if not figures["count"]:
        return []
    event = _head("24hrMiniTicker", stream.symbol, span) | {
        "c": figures["lastPrice"],
        "o": figures["openPrice"],
        "h": figures["highPrice"],
        "l": figures["lowPrice"],
        "v": figures["volume"],
        "q": figures["quoteVolume"],
    }
    return [event]


def _ticker(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Body]:
    day = day_body(exchange, stream.symbol, span.end_ms)
    if not day["count"]:
        return []
    return [_head("24hrTicker", stream.symbol, span) | {letter: day[name] for letter, name in TICKER_NAMES.items()}]


def _head(kind: str, symbol: Symbol, span: Span) -> Body:
    return {"e": kind, "E": span.end_ms, "s": symbol.name}


def _levels(symbol: Symbol, levels: list[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(symbol.price(price), symbol.quantity(lots)) for price, lots in levels]


MAKERS: Mapping[str, Callable[[SimulatedExchange, Stream, Span], list[Body]]] = {
    "depth": _depth,
    "partial": _partial,
    "bookTicker": _book_ticker,
    "aggTrade": _aggregate_trades,
    "trade": _trades,
    "kline": _klines,
    "miniTicker": _mini_ticker,
    "ticker": _ticker,
}
