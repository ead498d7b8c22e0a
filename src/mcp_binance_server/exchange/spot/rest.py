"""The public side of Spot REST: one method per call, equal reads shared for a second."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import msgspec

from mcp_binance_server.domain.market import (
    AveragePrice,
    BookSnapshot,
    ClockCheck,
    Origin,
    Quote,
    Sourced,
    Ticker,
    Trade,
)
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.endpoints import REACH, TIME, Endpoint, host_of
from mcp_binance_server.exchange.signing import rest_query
from mcp_binance_server.exchange.spot.endpoints import (
    AGGREGATE_TRADES,
    AVERAGE_PRICE,
    BOOK_TICKER,
    CLOSED_KLINES,
    DAILY_KLINES,
    KLINES,
    SNAPSHOT,
    TICKER_24H,
    TICKER_PRICE_ALL,
    TRADES,
    depth_endpoint,
)
from mcp_binance_server.exchange.spot.wire import (
    AggregateTradeWire,
    AveragePriceWire,
    DepthWire,
    KlineWire,
    PriceWire,
    QuoteWire,
    TickerWire,
    TradeWire,
)
from mcp_binance_server.exchange.wire import TimeWire, price
from mcp_binance_server.state.engine import StateEngine
from mcp_binance_server.state.pace import LoopPace
from mcp_binance_server.words import word

WireT = TypeVar("WireT")
ValueT = TypeVar("ValueT")

MINUTE_MS = 60_000
# A thousand candles are about a mebibyte when decoded.
MOST_RECENT = 16


@dataclass(slots=True)
class ReadCount:
    """How many shared reads were asked for, and how many of them had to be sent."""

    asked: int = 0
    sent: int = 0


@dataclass(slots=True)
class _Answer:
    """An answer as it came, decoded, and what it means once somebody has asked for that."""

    packed: bytes
    decoded: object
    meaning: object = None


class Recent:
    """The last answers: a crowd that shares one need not read it each."""

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        self._kept: dict[str, _Answer] = {}

    def keep(self, key: str, packed: bytes, decoded: object) -> _Answer:
        self._kept.pop(key, None)
        kept = self._kept[key] = _Answer(packed, decoded)
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]
        return kept

    def meaning(self, key: str, packed: bytes, shape: type[WireT], read: Callable[[WireT], ValueT]) -> ValueT:
        """Return what an answer means; what was kept under a key has one shape and one reading."""
        kept = self._kept.get(key)
        if kept is None or kept.packed != packed:
            _, _, content = packed.partition(b"\n")
            kept = self.keep(key, packed, msgspec.json.decode(content, type=shape))
        if kept.meaning is None:
            kept.meaning, kept.decoded = read(cast("WireT", kept.decoded)), None
        return cast("ValueT", kept.meaning)


@dataclass(frozen=True, slots=True)
class SpotClient:
    """Public market data; every answer names the host that gave it."""

    caller: ExchangeCaller
    engine: StateEngine
    pace: LoopPace = field(repr=False)
    reads: ReadCount = field(default_factory=ReadCount)
    recent: Recent = field(default_factory=Recent, repr=False)

    async def ticker(self, symbol: Symbol) -> Sourced[Ticker]:
        return await self._shared(TICKER_24H, {"symbol": symbol}, TickerWire, TickerWire.to_domain)

    async def tickers(self, symbols: Sequence[Symbol]) -> Sourced[dict[Symbol, Ticker]]:
        """Return up to twenty tickers for the weight of one; the exchange may leave some out without a word."""
        listed = msgspec.json.encode(sorted(symbols)).decode()
        return await self._shared(TICKER_24H, {"symbols": listed}, list[TickerWire], _by_symbol)

    async def clock_check(self) -> Sourced[ClockCheck]:
        """Ask for the exchange's time, once; it was true half a round trip before the answer arrived."""
        clock = self.caller.clock
        asked_at = clock.monotonic_ms()
        body = await self.caller.read(TIME, {}, TimeWire)
        round_trip_ms = clock.monotonic_ms() - asked_at
        server_ms = body.value.server_time
        check = ClockCheck(round(server_ms + round_trip_ms / 2), clock.now_ms(), round(round_trip_ms))
        return Sourced(check, body.host, self._origin(body.host, host_of(self.caller.network.rest_url)), body.at_ms)

    async def reach(self) -> None:
        """Find out whether the exchange answers, at the least cost.

        Raises:
            AppError: it does not, or may not be asked now.
        """
        await self.caller.read(REACH, {}, TimeWire)

    async def prices(self) -> Sourced[dict[Symbol, Price]]:
        """Return the last price of every symbol: cheaper than asking for more than two."""
        return await self._shared(TICKER_PRICE_ALL, {}, list[PriceWire], _prices)

    async def average_price(self, symbol: Symbol) -> Sourced[AveragePrice]:
        """Return the average price of the exchange's own window, five minutes today."""
        return await self._shared(AVERAGE_PRICE, {"symbol": symbol}, AveragePriceWire, _average)

    async def quote(self, symbol: Symbol) -> Sourced[Quote]:
        return await self._shared(BOOK_TICKER, {"symbol": symbol}, QuoteWire, QuoteWire.to_domain)

    async def depth(self, symbol: Symbol, limit: int) -> Sourced[BookSnapshot]:
        params: Params = {"symbol": symbol, "limit": limit}
        return await self._shared(depth_endpoint(limit), params, DepthWire, DepthWire.to_domain)

    async def snapshot(self, symbol: Symbol, levels: int) -> BookSnapshot:
        """Return a book for a stream to build on: asked for now, by nobody who waits."""
        body = await self.caller.read(SNAPSHOT, {"symbol": symbol, "limit": levels}, DepthWire)
        return body.value.to_domain()

    async def trades(self, symbol: Symbol, limit: int) -> Sourced[tuple[Trade, ...]]:
        return await self._shared(TRADES, {"symbol": symbol, "limit": limit}, list[TradeWire], _trades)

    async def aggregate_trades(self, symbol: Symbol, limit: int) -> Sourced[tuple[Trade, ...]]:
        """Return the newest aggregate trades, oldest first."""
        return await self._aggregate_page({"symbol": symbol, "limit": limit})

    async def aggregate_trades_since(self, symbol: Symbol, from_ms: int) -> Sourced[tuple[Trade, ...]]:
        """Return the first thousand aggregate trades at a moment and after it, oldest first."""
        return await self._aggregate_page({"symbol": symbol, "limit": 1000, "startTime": from_ms})

    async def aggregate_trades_after(self, symbol: Symbol, trade_id: int) -> Sourced[tuple[Trade, ...]]:
        """Return the thousand aggregate trades that follow one."""
        return await self._aggregate_page({"symbol": symbol, "limit": 1000, "fromId": trade_id + 1})

    async def _aggregate_page(self, params: Params) -> Sourced[tuple[Trade, ...]]:
        return await self._shared(AGGREGATE_TRADES, params, list[AggregateTradeWire], _aggregate_trades)

    async def candles(
        self, symbol: Symbol, interval: Interval, limit: int, *, until_ms: int | None = None
    ) -> Sourced[tuple[Candle, ...]]:
        """Return the newest candles that opened up to a moment, oldest first."""
        # Never startTime: with it the exchange answers the oldest, and the newest would be cut off.
        ending = {} if until_ms is None else {"endTime": until_ms}
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit, **ending}
        return await self._shared(KLINES, params, list[KlineWire], _candles)

    async def closed_candles(
        self, symbol: Symbol, interval: Interval, limit: int, *, until_ms: int
    ) -> Sourced[tuple[Candle, ...]]:
        """Return the candles before a moment at which the last of them has ended: they do not change any more."""
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit, "endTime": until_ms}
        # Those that end with a minute are asked for again while the next one lasts; others never are.
        endpoint = KLINES if (until_ms + 1) % MINUTE_MS else CLOSED_KLINES
        return await self._shared(endpoint, params, list[KlineWire], _candles)

    async def daily_candles(self, symbol: Symbol, days: int) -> Sourced[tuple[Candle, ...]]:
        """Return the last days, oldest first; asked at most once an hour."""
        params: Params = {"symbol": symbol, "interval": "1d", "limit": days}
        return await self._shared(DAILY_KLINES, params, list[KlineWire], _candles)

    async def _shared(
        self, endpoint: Endpoint, params: Params, shape: type[WireT], read: Callable[[WireT], ValueT]
    ) -> Sourced[ValueT]:
        async def produce() -> bytes:
            self.reads.sent += 1
            asked_ms = self.engine.now_ms()
            body = await self.caller.read(endpoint, params, shape)
            packed = f"{body.host} {body.at_ms} {asked_ms}\n".encode() + body.content
            self.recent.keep(key, packed, body.value)
            return packed

        self.reads.asked += 1
        configured = host_of(self.caller.network.rest_url)
        key = f"answer:{configured}:{endpoint.name}?{rest_query(params)}"
        kept = await self.engine.single_flight(
            key,
            produce,
            ttl_ms=endpoint.shared_ms,
            lock_ms=self.caller.longest_ms(endpoint),
        )
        await self.pace.step()  # all who shared it were woken at once
        answered, at_ms, asked_ms = kept[: kept.index(b"\n")].decode().split(" ")
        value = self.recent.meaning(key, kept, shape, read)
        # Another process may have asked; by the engine's time all of them know how long ago that was.
        as_of_ms = self.caller.time.dated(int(at_ms), ago_ms=self.engine.now_ms() - int(asked_ms))
        return Sourced(value, answered, self._origin(answered, configured), as_of_ms)

    def _origin(self, answered: str, configured: str) -> Origin:
        if self.caller.network.simulated:
            return "simulated"
        return "configured" if answered == configured else "rerouted"


def _by_symbol(rows: Sequence[TickerWire]) -> dict[Symbol, Ticker]:
    return {each.symbol: each for each in (row.to_domain() for row in rows)}


def _prices(rows: Sequence[PriceWire]) -> dict[Symbol, Price]:
    return {Symbol(word(each.symbol)): price(each.price) for each in rows}


def _average(told: AveragePriceWire) -> AveragePrice:
    return AveragePrice(price(told.price), told.mins, told.close_time)


def _trades(rows: Sequence[TradeWire]) -> tuple[Trade, ...]:
    return tuple(each.to_domain() for each in rows)


def _aggregate_trades(rows: Sequence[AggregateTradeWire]) -> tuple[Trade, ...]:
    return tuple(each.to_domain() for each in rows)


def _candles(rows: Sequence[KlineWire]) -> tuple[Candle, ...]:
    return tuple(each.to_domain() for each in rows)
