"""Streams of the futures host: routes, all-market arrays and the events of each second."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.futures.liquidations import ForcedOrder, told
from binance_simulator.futures.listing import Contract
from binance_simulator.market.source import Event, Span
from binance_simulator.rest.futures_board import day_row, premium_row
from binance_simulator.streams.subscriptions import Subscriptions

Body = dict[str, object]

SECOND_MS = 1_000
MARKET = "market"
PATH = re.compile(r"/(?:(?P<route>market|public|private)/)?(?P<kind>ws|stream)(?:/(?P<names>.*))?")
NAME = re.compile(r"(?:!|(?P<symbol>[^@!]+)@)(?P<kind>forceOrder|markPrice|ticker|miniTicker)(?P<rest>(?:@[^@]+)*)")
USD_M, COIN_M = 1, 2  # the all-market arrays also contain COIN-M since it was added
COIN_PAIRS = {"BTCUSDT": "BTCUSD", "ETHUSDT": "ETHUSD"}
COIN_CONTRACT_USD = 10
DAY_NAMES = {"c": "lastPrice", "o": "openPrice", "h": "highPrice", "l": "lowPrice", "v": "volume", "q": "quoteVolume"}
MORE_DAY_NAMES = {
    "p": "priceChange", "P": "priceChangePercent", "w": "weightedAvgPrice", "Q": "lastQty", "O": "openTime",
    "C": "closeTime", "F": "firstId", "L": "lastId", "n": "count",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MarketStream:
    """One stream of the futures host. Without a symbol it covers all contracts."""

    name: str
    kind: str
    every_ms: int
    symbol: str | None


def parse_market_stream(name: str) -> MarketStream | None:
    """Return the stream with this name, or None."""
    match = NAME.fullmatch(name)
    if match is None or (match["symbol"] or "") != (match["symbol"] or "").lower():
        return None
    kind, symbol = match["kind"], match["symbol"]
    rest = match["rest"] if symbol else match["rest"].removeprefix("@arr")
    if symbol is None and not match["rest"].startswith("@arr"):
        return None
    if kind == "markPrice" and rest in {"", "@1s"}:
        return MarketStream(name, kind, SECOND_MS if rest else 3 * SECOND_MS, symbol and symbol.upper())
    return None if rest else MarketStream(name, kind, SECOND_MS, symbol and symbol.upper())


class FuturesSession(Subscriptions[MarketStream]):
    """A connection to the futures host. On a wrong route it stays open and sends nothing."""

    def __init__(self, exchange: SimulatedExchange, *, market: bool, combined: bool) -> None:
        super().__init__(exchange, exchange.futures.hub, combined=combined)
        self._market = market

    def _parsed(self, name: str) -> MarketStream | None:
        return parse_market_stream(name) if self._market else None

    def _events(self, stream: MarketStream, span: Span) -> tuple[Event, ...]:
        return self._exchange.futures.said.get((stream.name, span), lambda: _made(self._exchange, stream, span))


def futures_session(exchange: SimulatedExchange, path: str, streams: str) -> FuturesSession | None:
    """Return the session for a path, or None if the path is unknown."""
    match = PATH.fullmatch(path)
    if match is None:
        return None
    combined = match["kind"] == "stream"
    session = FuturesSession(exchange, market=match["route"] == MARKET, combined=combined)
    names = streams if combined else match["names"] or ""
    session.subscribe([name for name in names.split("/") if name])
    return session


def _made(exchange: SimulatedExchange, stream: MarketStream, span: Span) -> tuple[Event, ...]:
    return tuple(Event(msgspec.json.encode(body).decode()) for body in MAKERS[stream.kind](exchange, stream, span))


def _chosen(exchange: SimulatedExchange, stream: MarketStream, at_ms: int) -> list[Contract]:
    listed = exchange.futures.contracts(at_ms)
    if stream.symbol is None:
        return [each for each in listed.values() if each.trading]
    return [found] if (found := listed.get(stream.symbol)) is not None and found.trading else []


def _forced(exchange: SimulatedExchange, stream: MarketStream, span: Span) -> list[object]:
    """Return the newest order of each contract in the second, including COIN-M contracts."""
    first_ms, end_ms = span.end_ms - SECOND_MS + 1, span.end_ms + 1
    market = exchange.futures.market
    found = [
        order
        for contract in _chosen(exchange, stream, span.end_ms)
        for order in market.liquidations(contract).between(first_ms, end_ms)
    ]
    events: list[object] = []
    for order in told(sorted(found, key=lambda each: each.time_ms)):
        events.append(_order_event(order, span.end_ms))
        if stream.symbol is None and order.contract.name in COIN_PAIRS:
            events.append(_coin_order_event(order, span.end_ms))
    return events


def _order_event(order: ForcedOrder, at_ms: int) -> Body:
    contract, lots = order.contract, order.contract.quantity(order.lots)
    return {
        "e": "forceOrder",
        "E": at_ms,
        "st": USD_M,
        "ps": contract.pair,
        "o": _order(order, contract.name) | {"q": lots, "l": lots, "z": lots},
    }


def _coin_order_event(order: ForcedOrder, at_ms: int) -> Body:
    pair, dollars = (
        COIN_PAIRS[order.contract.name],
        order.lots * order.contract.lot * order.average * order.contract.tick,
    )
    count = str(max(1, dollars // (COIN_CONTRACT_USD * 10**16)))
    inner = _order(order, f"{pair}_PERP") | {"q": count, "l": count, "z": count}
    return {"e": "forceOrder", "E": at_ms, "st": COIN_M, "ps": pair, "o": inner}


def _order(order: ForcedOrder, symbol: str) -> Body:
    return {
        "s": symbol,
        "S": "SELL" if order.sells else "BUY",
        "o": "LIMIT",
        "f": "IOC",
        "p": order.contract.price(order.price),
        "ap": order.contract.price(order.average),
        "X": "FILLED",
        "T": order.time_ms,
    }


def _marks(exchange: SimulatedExchange, stream: MarketStream, span: Span) -> list[object]:
    """Return all mark prices in one array, including COIN-M. TradFi contracts have a message of their own."""
    chosen = _chosen(exchange, stream, span.end_ms)
    rows = {each.name: _mark_event(exchange, each, span.end_ms) for each in chosen}
    if stream.symbol is not None:
        return list(rows.values())
    coins = [rows[name] | {"s": f"{pair}_PERP", "st": COIN_M} for name, pair in COIN_PAIRS.items() if name in rows]
    usual = [rows[each.name] for each in chosen if each.kind != "TRADIFI_PERPETUAL"]
    tradfi = [rows[each.name] for each in chosen if each.kind == "TRADIFI_PERPETUAL"]
    return [[*usual, *coins], tradfi]


def _mark_event(exchange: SimulatedExchange, contract: Contract, at_ms: int) -> Body:
    row = premium_row(exchange.futures.market, contract, at_ms)
    return {
        "e": "markPriceUpdate",
        "E": at_ms,
        "s": contract.name,
        "p": row["markPrice"],
        "i": row["indexPrice"],
        "P": row["estimatedSettlePrice"],
        "ap": row["markPrice"],
        "r": row["lastFundingRate"],
        "T": row["nextFundingTime"],
        "st": USD_M,
    }


def _days(exchange: SimulatedExchange, stream: MarketStream, span: Span) -> list[object]:
    kind = {"ticker": "24hrTicker", "miniTicker": "24hrMiniTicker"}[stream.kind]
    names = DAY_NAMES | (MORE_DAY_NAMES if stream.kind == "ticker" else {})
    rows: list[Body] = []
    for contract in _chosen(exchange, stream, span.end_ms):
        row = day_row(exchange.futures.market, contract, span.end_ms)
        head: Body = {"e": kind, "E": span.end_ms, "s": contract.name, "st": USD_M}
        rows.append(head | {short: row[name] for short, name in names.items()})
    return [rows] if stream.symbol is None else list(rows)


MAKERS: Mapping[str, Callable[[SimulatedExchange, MarketStream, Span], list[object]]] = {
    "forceOrder": _forced,
    "markPrice": _marks,
    "ticker": _days,
    "miniTicker": _days,
}
