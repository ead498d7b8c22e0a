"""What each market stream says at one moment, from the same market the REST API reads."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from mcp_binance_server.simulator.exchange import SimulatedExchange
from mcp_binance_server.simulator.listing import Symbol
from mcp_binance_server.simulator.portfolio import ZERO
from mcp_binance_server.simulator.stream_names import Stream
from mcp_binance_server.simulator.tickers import day_figures
from mcp_binance_server.simulator.trades import grouped

Event = dict[str, object]


class Span(NamedTuple):
    """The events after `start_ms`, up to and including `end_ms`."""

    start_ms: int
    end_ms: int


def events_of(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    """Return the events of a stream that fall due at the end of a span, oldest first."""
    return MAKERS[stream.kind](exchange, stream, span)


def _depth(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    symbol = stream.symbol
    changes = exchange.stage.market.changes(symbol, span.start_ms, span.end_ms)
    if not changes.bids and not changes.asks:
        return []
    event = _head("depthUpdate", symbol, span) | {
        "U": changes.first_id,
        "u": changes.last_id,
        "b": _levels(symbol, sorted(changes.bids.items(), reverse=True)),
        "a": _levels(symbol, sorted(changes.asks.items())),
    }
    return [event]


def _partial(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    symbol = stream.symbol
    depth = exchange.stage.market.depth(symbol, stream.levels, span.end_ms)
    if not depth.bids and not depth.asks:
        return []
    bids, asks = _levels(symbol, depth.bids), _levels(symbol, depth.asks)
    return [{"lastUpdateId": depth.update_id, "bids": bids, "asks": asks}]


def _book_ticker(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    symbol, market = stream.symbol, exchange.stage.market
    top = market.top(symbol, span.end_ms)
    if top is None or top == market.top(symbol, span.start_ms):
        return []
    event: Event = {
        "u": market.update_id(symbol, span.end_ms),
        "s": symbol.name,
        "b": symbol.price(top.bid[0]),
        "B": symbol.quantity(top.bid[1]),
        "a": symbol.price(top.ask[0]),
        "A": symbol.quantity(top.ask[1]),
    }
    return [event]


def _aggregate_trades(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    symbol = stream.symbol
    history = exchange.stage.market.history(symbol)
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
        for group in grouped(history.forward(span.start_ms + 1, history.until(span.end_ms)))
    ]


def _trades(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    symbol = stream.symbol
    history = exchange.stage.market.history(symbol)
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
        for trade in history.forward(span.start_ms + 1, history.until(span.end_ms))
    ]


def _klines(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
    symbol, interval = stream.symbol, stream.interval
    history = exchange.stage.market.history(symbol)
    if interval is None or history.ended_ms is not None:
        return []
    # At the very end of a candle its last state goes out; the next one is first heard of a period later.
    opening_ms = interval.opening(span.end_ms - 1)
    next_ms = interval.following(opening_ms)
    candle = history.window(opening_ms, min(next_ms, span.end_ms + 1))
    before = history.last(opening_ms)
    price = symbol.price(0 if before is None else before.price)
    kline: Event = {
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


def _mini_ticker(exchange: SimulatedExchange, stream: Stream, span: Span) -> list[Event]:
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


def _head(kind: str, symbol: Symbol, span: Span) -> Event:
    return {"e": kind, "E": span.end_ms, "s": symbol.name}


def _levels(symbol: Symbol, levels: list[tuple[int, int]]) -> list[tuple[str, str]]:
    return [(symbol.price(price), symbol.quantity(lots)) for price, lots in levels]


MAKERS: Mapping[str, Callable[[SimulatedExchange, Stream, Span], list[Event]]] = {
    "depth": _depth,
    "partial": _partial,
    "bookTicker": _book_ticker,
    "aggTrade": _aggregate_trades,
    "trade": _trades,
    "kline": _klines,
    "miniTicker": _mini_ticker,
}
