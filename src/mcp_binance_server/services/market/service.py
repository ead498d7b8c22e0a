"""Prices, trades, candles and symbols. They are read from a stream if possible."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import (
    MOST_CANDLES,
    AveragePrice,
    BookSnapshot,
    CandleSeries,
    ClockCheck,
    MarketView,
    Observation,
    Origin,
    Sourced,
    Ticker,
    TickerBoard,
    Trade,
)
from mcp_binance_server.domain.money import ASSET_NAMES
from mcp_binance_server.domain.periods import Interval, Written, read_period
from mcp_binance_server.domain.price_reading import read_price
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable, fold, suggest
from mcp_binance_server.errors import InvalidSymbol
from mcp_binance_server.exchange.endpoints import Network, host_of
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.feeds.readers import FINISHED_LEVELS
from mcp_binance_server.services.gathering import gather

ValueT = TypeVar("ValueT")

# Shorter texts occur in too many names.
SHORTEST_NAME = 3
Question = Callable[[Symbol], Awaitable[Sourced[ValueT]]]
Stream = Callable[[SymbolRules], Observation[ValueT] | None]


@dataclass(frozen=True, slots=True)
class Streamed:
    """Values from feeds that other readers opened. They are used only while as fresh as an answer of the exchange."""

    hub: Hub | None
    network: Network
    time: ServerTime
    thresholds: Thresholds = DEFAULTS

    def ticker(self, rules: SymbolRules) -> Observation[Ticker] | None:
        """Return the 24-hour ticker, or None if it is not fresh."""
        feed = self._fresh(rules)
        if feed is None or feed.ticker is None or not self._is_fresh(feed.ticker.close_time_ms):
            return None
        return self._told(feed.ticker, rules, feed.ticker.close_time_ms)

    def last_trade_ms(self, rules: SymbolRules) -> int | None:
        """Return the time of the newest trade, or None without a fresh feed."""
        feed = self._fresh(rules)
        return None if feed is None else feed.last_trade_ms

    def book(self, rules: SymbolRules, levels: int) -> Observation[BookSnapshot] | None:
        """Return the best levels of a synchronised book, or None without such a book."""
        feed = self._fresh(rules)
        if feed is None or (feed.is_finished and levels > FINISHED_LEVELS):
            return None
        return self._told(feed.book.top(levels), rules, feed.book_ms)

    def trades(self, rules: SymbolRules, count: int) -> Observation[tuple[Trade, ...]] | None:
        """Return the newest aggregate trades. Return None if fewer than `count` are held or one is missing."""
        feed = self._fresh(rules)
        newest = None if feed is None else feed.tape.last(count)
        if feed is None or newest is None:
            return None
        return self._told(newest, rules, max(feed.book_ms, newest[-1].time_ms if newest else 0))

    def _fresh(self, rules: SymbolRules) -> SymbolFeed | None:
        feed = self.hub.peek(rules.symbol) if self.hub else None
        if feed is None or not feed.is_live or feed.is_late(self.thresholds.stale_ms):
            return None
        return feed if self._is_fresh(feed.book_ms) else None

    def _is_fresh(self, at_ms: int) -> bool:
        return self.time.now_ms() - at_ms <= self.thresholds.stale_ms

    def _told(self, value: ValueT, rules: SymbolRules, at_ms: int) -> Observation[ValueT]:
        origin: Origin = "simulated_stream" if self.network.simulated else "streamed"
        return Observation(value, rules, host_of(self.network.stream_url or self.network.rest_url), origin, at_ms)


def matching(query: str, quote: str | None, table: SymbolTable) -> list[SymbolRules]:
    """Return every symbol that matches. Trading symbols come first, then closer matches, then the table's order."""
    wanted = _bare(query)
    named = _named(wanted)
    against = None if quote is None else fold(quote)
    everything = [table.rules[symbol] for symbol in table.ordered]
    listed = [rules for rules in everything if against is None or rules.quote == against]
    ranked = [(rank, rules) for rules in listed if (rank := _rank(rules, wanted, named)) is not None]
    if not ranked:
        # A second name (ripple, ether) or a misspelling: use the suggested symbols.
        suggested = suggest(query, table)
        bases = {rules.base for rules in everything if rules.symbol in suggested}
        ranked = [(0, rules) for rules in listed if rules.base in bases]
    ranked.sort(key=lambda found: (not found[1].is_trading, found[0]))  # stable sort keeps the table's order
    return [rules for _, rules in ranked]


def _bare(text: str) -> str:
    return "".join(character for character in fold(text) if character.isalnum())


def _named(wanted: str) -> dict[str, int]:
    if len(wanted) < SHORTEST_NAME:
        return {}
    names = {asset: _bare(name) for asset, name in ASSET_NAMES.items()}
    return {asset: 1 if name == wanted else 2 for asset, name in names.items() if name.startswith(wanted)}


def _rank(rules: SymbolRules, wanted: str, named: dict[str, int]) -> int | None:
    fits = (
        (rules.symbol == wanted, 0),
        (rules.base == wanted, 1),
        (rules.base in named, named.get(rules.base, 2)),
        (bool(wanted) and rules.symbol.startswith(wanted), 3),
        (rules.quote == wanted, 4),
        (bool(wanted) and wanted in rules.symbol, 5),
    )
    return next((rank for fit, rank in fits if fit), None)


def _no_stream(_: SymbolRules) -> None:
    return None


@dataclass(frozen=True, slots=True)
class MarketService:
    """Public data: symbols and their rules, tickers, books, trades, candles, and the exchange's clock."""

    client: SpotClient
    directory: Directory
    time: ServerTime
    streamed: Streamed

    async def clock_check(self) -> Sourced[ClockCheck]:
        """Compare the local clock with the exchange's clock."""
        return await self.client.clock_check()

    async def rules(self, text: str) -> SymbolRules:
        """Return the exchange's rules for a symbol in the caller's spelling."""
        return await self.directory.find(text)

    async def spelled(self, text: str) -> Symbol | None:
        """Return the one trading pair that another spelling means, such as `btc` or `BTC/USDT`, or None."""
        return await self.directory.spelled(text)

    async def symbols(self, prefix: str) -> list[Symbol]:
        """Return the symbols that start with a prefix typed by the caller."""
        return (await self.directory.table()).starting_with(prefix)

    async def trading_count(self) -> int:
        """Return the number of symbols that trade now."""
        return sum(each.is_trading for each in (await self.directory.table()).rules.values())

    async def search(self, query: str, quote: str | None) -> list[SymbolRules]:
        """Return the symbols that match a search, trading symbols first."""
        return matching(query, quote, await self.directory.table())

    async def ticker(self, text: str) -> MarketView:
        """Return the 24-hour ticker of a symbol in the caller's spelling."""
        seen = await self._observe(text, self.client.ticker, self.streamed.ticker)
        return self._view(seen.value, seen.rules, seen.host, seen.origin)

    async def priced(self, text: str) -> MarketView:
        """Return the 24-hour ticker with a reference price.

        The reference price is the last trade, or the mid price if that trade is outdated.
        """
        seen, traded = await gather(lambda: self.ticker(text), lambda: self._last_trade_ms(text))
        view = seen.required()
        ticker = view.ticker
        if not ticker.has_traded:
            return view
        reading = read_price(
            ticker.last_price,
            traded.value,
            bid=ticker.bid,
            ask=ticker.ask,
            tick=view.rules.tick,
            at_ms=ticker.close_time_ms,
        )
        return replace(view, ticker=replace(ticker, last_price=reading.price), reading=reading)

    async def _last_trade_ms(self, text: str) -> int:
        if not self.directory.is_arriving:
            streamed = self.streamed.last_trade_ms(await self.directory.find(text))
            if streamed is not None:
                return streamed
        # The average price is the cheapest answer that contains the time of the last trade.
        return (await self.average(text)).value.last_trade_ms

    async def tickers(self, texts: Sequence[str]) -> TickerBoard:
        """Return the 24-hour tickers of several symbols by one request, in the requested order."""
        found = [await self.directory.find(text) for text in texts]
        asked = {rules.symbol: rules for rules in found}
        try:
            reading = await self.client.tickers(tuple(asked))
        except InvalidSymbol:
            await self.directory.doubt()
            raise InvalidSymbol(provided_symbol=", ".join(asked)) from None
        # The exchange silently omits a symbol that was just delisted.
        there = [each for each in asked if each in reading.value]
        missing = tuple(each for each in asked if each not in reading.value)
        views = tuple(self._view(reading.value[each], asked[each], reading.host, reading.origin) for each in there)
        return TickerBoard(views, missing, reading.host, reading.origin)

    async def average(self, text: str) -> Observation[AveragePrice]:
        """Return the exchange's own average price of the last minutes."""
        return await self._observe(text, self.client.average_price)

    async def book(self, text: str, limit: int) -> Observation[BookSnapshot]:
        """Return up to `limit` levels of both sides, best first."""
        return await self._observe(
            text,
            lambda symbol: self.client.depth(symbol, limit),
            lambda rules: self.streamed.book(rules, limit),
        )

    async def trades(self, text: str, limit: int) -> Observation[tuple[Trade, ...]]:
        """Return the newest trades, streamed or requested, newest last.

        An aggregate trade is one taker at one price.
        """
        return await self._observe(
            text,
            lambda symbol: self.client.aggregate_trades(symbol, limit),
            lambda rules: self.streamed.trades(rules, limit),
        )

    async def candles(
        self, text: str, interval: Interval, limit: int, start: Written | None = None, end: Written | None = None
    ) -> Observation[CandleSeries]:
        """Return the newest candles that opened between two moments. The caller may write a moment in several ways.

        Raises:
            InvalidArguments: a moment is malformed.
        """
        await self.directory.expect(text)
        period = read_period(start, end, self.time.now_ms())
        # One more than requested, to find out whether older candles exist.
        most = min(limit + 1, MOST_CANDLES)
        seen = await self._observe(
            text, lambda symbol: self.client.candles(symbol, interval, most, until_ms=period.end_ms)
        )
        series = CandleSeries.of(interval, seen.value, limit, period)
        return Observation(series, seen.rules, seen.host, seen.origin, seen.at_ms)

    def _view(self, ticker: Ticker, rules: SymbolRules, host: str, origin: Origin) -> MarketView:
        age_ms = max(0, self.time.now_ms() - ticker.close_time_ms)
        return MarketView(ticker, rules, host, origin, age_ms)

    async def _observe(
        self, text: str, question: Question[ValueT], streamed: Stream[ValueT] = _no_stream
    ) -> Observation[ValueT]:
        if self.directory.is_arriving:
            symbol = await self.directory.expect(text)
            found, read = await gather(lambda: self.directory.find(text), lambda: question(symbol))
            rules, reading = found.required(), read.required()
        else:
            rules = await self.directory.find(text)
            if (told := streamed(rules)) is not None:
                return told
            try:
                reading = await question(rules.symbol)
            except InvalidSymbol:
                await self.directory.doubt()
                raise
        return Observation(reading.value, rules, reading.host, reading.origin, reading.at_ms)
