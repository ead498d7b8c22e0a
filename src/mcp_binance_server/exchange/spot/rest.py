"""REST client for public Spot data: one method per call; equal reads within a second share an answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import msgspec

from mcp_binance_server.domain.market import (
    AveragePrice,
    BookSnapshot,
    Quote,
    Sourced,
    Ticker,
    Trade,
)
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.reference_price import PriceRangeRule, ReferencePrice
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected, ExchangeUnavailable
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.board_part import BoardPart
from mcp_binance_server.exchange.endpoints import REACH
from mcp_binance_server.exchange.series import SeriesRow, read_series
from mcp_binance_server.exchange.shared_reads import SharedReads
from mcp_binance_server.exchange.spot.endpoints import (
    AGGREGATE_TRADES,
    ALL_DAYS,
    AVERAGE_PRICE,
    BOOK_TICKER,
    BOOK_TICKER_ALL,
    CLOSED_KLINES,
    DAILY_KLINES,
    EXECUTION_RULES,
    KLINES,
    REFERENCE_PRICE,
    SERIES_KLINES,
    SNAPSHOT,
    TICKER_24H,
    TICKER_PRICE_ALL,
    depth_endpoint,
)
from mcp_binance_server.exchange.spot.wire import (
    AggregateTradeWire,
    AveragePriceWire,
    DepthWire,
    ExecutionRulesWire,
    PriceWire,
    QuotedDayRowWire,
    QuoteWire,
    ReferencePriceWire,
    TickerWire,
)
from mcp_binance_server.exchange.wire import NO_REFERENCE_PRICE, KlineWire, TimeWire, price
from mcp_binance_server.words import word

MINUTE_MS = 60_000
# A preview, an estimate or a paper order does not wait longer for the reference price.
REFERENCE_SECS = 3.0


@dataclass(frozen=True, slots=True)
class SpotClient(SharedReads):
    """Public market data; every result names the host that answered."""

    async def ticker(self, symbol: Symbol) -> Sourced[Ticker]:
        return await self.shared(TICKER_24H, {"symbol": symbol}, TickerWire, TickerWire.to_domain)

    async def tickers(self, symbols: Sequence[Symbol]) -> Sourced[dict[Symbol, Ticker]]:
        """Return up to twenty tickers for the weight of one.

        The exchange may omit symbols without an error.
        """
        listed = msgspec.json.encode(sorted(symbols)).decode()
        return await self.shared(TICKER_24H, {"symbols": listed}, list[TickerWire], _by_symbol)

    async def all_days(self) -> BoardPart:
        """Request the 24-hour statistics of every trading pair, as texts; the answer is never shared."""
        return await self.board_part(ALL_DAYS, {"symbolStatus": "TRADING"}, QuotedDayRowWire)

    async def closed_series(self, symbol: str, interval: Interval, limit: int) -> list[SeriesRow]:
        """Return the newest candles as plain numbers, oldest first, by a background call.

        The last candle may be unfinished.
        """
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit}
        return read_series((await self.caller.read(SERIES_KLINES, params, list[KlineWire])).value)

    async def reach(self) -> None:
        """Check that the exchange answers, by its cheapest call.

        Raises:
            AppError: the exchange does not answer, or a limit forbids the call.
        """
        await self.caller.read(REACH, {}, TimeWire)

    async def prices(self) -> Sourced[dict[Symbol, Price]]:
        """Return the last price of every symbol; for more than two symbols this is cheaper than single requests."""
        return await self.shared(TICKER_PRICE_ALL, {}, list[PriceWire], _prices)

    async def average_price(self, symbol: Symbol) -> Sourced[AveragePrice]:
        """Return the average price of a period that the exchange sets; today it is five minutes."""
        return await self.shared(AVERAGE_PRICE, {"symbol": symbol}, AveragePriceWire, _average)

    async def reference_price(self, symbol: Symbol) -> ReferencePrice:
        """Return the reference price of a symbol, without its price range."""
        params: Params = {"symbol": symbol}
        try:
            return (await self.shared(REFERENCE_PRICE, params, ReferencePriceWire, ReferencePriceWire.to_domain)).value
        except ExchangeRejected as error:
            if error.exchange_code != NO_REFERENCE_PRICE:
                raise
            return ReferencePrice()

    async def price_range(self, symbol: Symbol) -> PriceRangeRule | None:
        """Return the price range rule of a symbol; None if it has none."""
        # Use a tuple, because None cannot be cached.
        told = await self.shared(
            EXECUTION_RULES, {"symbol": symbol}, ExecutionRulesWire, lambda told: (told.price_range(symbol),)
        )
        return told.value[0]

    async def ranged_reference(self, symbol: Symbol) -> ReferencePrice:
        """Return the reference price of a symbol with its price range, which has no effect without the price.

        Raises:
            AppError: as with every read, with ExchangeUnavailable also for an answer after `REFERENCE_SECS`.
        """
        try:
            with anyio.fail_after(REFERENCE_SECS):
                reference = await self.reference_price(symbol)
                return reference if reference.price is None else replace(reference, rule=await self.price_range(symbol))
        except TimeoutError:
            raise ExchangeUnavailable(reason=f"no reference price within {REFERENCE_SECS:g} s") from None

    async def quote(self, symbol: Symbol) -> Sourced[Quote]:
        return await self.shared(BOOK_TICKER, {"symbol": symbol}, QuoteWire, QuoteWire.to_domain)

    async def quotes(self) -> Sourced[dict[Symbol, Quote]]:
        """Return the best prices of every symbol; a side without orders has the price zero."""
        return await self.shared(BOOK_TICKER_ALL, {}, list[QuoteWire], _quotes)

    async def depth(self, symbol: Symbol, limit: int) -> Sourced[BookSnapshot]:
        params: Params = {"symbol": symbol, "limit": limit}
        return await self.shared(depth_endpoint(limit), params, DepthWire, DepthWire.to_domain)

    async def snapshot(self, symbol: Symbol, levels: int) -> BookSnapshot:
        """Request a snapshot of a book for a live stream, by a background call; the answer is never shared."""
        body = await self.caller.read(SNAPSHOT, {"symbol": symbol, "limit": levels}, DepthWire)
        return body.value.to_domain()

    async def aggregate_trades(self, symbol: Symbol, limit: int) -> Sourced[tuple[Trade, ...]]:
        """Return the newest aggregate trades, oldest first."""
        return await self._aggregate_page({"symbol": symbol, "limit": limit})

    async def aggregate_trades_since(self, symbol: Symbol, from_ms: int) -> Sourced[tuple[Trade, ...]]:
        """Return the first thousand aggregate trades from a moment on, oldest first."""
        return await self._aggregate_page({"symbol": symbol, "limit": 1000, "startTime": from_ms})

    async def aggregate_trades_after(self, symbol: Symbol, trade_id: int) -> Sourced[tuple[Trade, ...]]:
        """Return the thousand aggregate trades after a given trade."""
        return await self._aggregate_page({"symbol": symbol, "limit": 1000, "fromId": trade_id + 1})

    async def _aggregate_page(self, params: Params) -> Sourced[tuple[Trade, ...]]:
        return await self.shared(AGGREGATE_TRADES, params, list[AggregateTradeWire], _aggregate_trades)

    async def candles(
        self, symbol: Symbol, interval: Interval, limit: int, *, until_ms: int | None = None
    ) -> Sourced[tuple[Candle, ...]]:
        """Return the newest candles that opened by `until_ms`, oldest first."""
        # With startTime the exchange returns the oldest candles of the range and cuts off the newest.
        ending = {} if until_ms is None else {"endTime": until_ms}
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit, **ending}
        return await self.shared(KLINES, params, list[KlineWire], _candles)

    async def closed_candles(
        self, symbol: Symbol, interval: Interval, limit: int, *, until_ms: int
    ) -> Sourced[tuple[Candle, ...]]:
        """Return the candles up to `until_ms`, the end of the last candle. All are closed and will not change."""
        params: Params = {"symbol": symbol, "interval": interval, "limit": limit, "endTime": until_ms}
        # Requests that end with a full minute are repeated during the next minute, so their answers are shared for
        # longer.
        endpoint = KLINES if (until_ms + 1) % MINUTE_MS else CLOSED_KLINES
        return await self.shared(endpoint, params, list[KlineWire], _candles)

    async def daily_candles(self, symbol: Symbol, days: int) -> Sourced[tuple[Candle, ...]]:
        """Return the last daily candles, oldest first; requested at most once an hour."""
        params: Params = {"symbol": symbol, "interval": "1d", "limit": days}
        return await self.shared(DAILY_KLINES, params, list[KlineWire], _candles)


def _by_symbol(rows: Sequence[TickerWire]) -> dict[Symbol, Ticker]:
    return {each.symbol: each for each in (row.to_domain() for row in rows)}


def _prices(rows: Sequence[PriceWire]) -> dict[Symbol, Price]:
    return {Symbol(word(each.symbol)): price(each.price) for each in rows}


def _quotes(rows: Sequence[QuoteWire]) -> dict[Symbol, Quote]:
    return {Symbol(row.symbol): row.to_domain() for row in rows}


def _average(told: AveragePriceWire) -> AveragePrice:
    return AveragePrice(price(told.price), told.mins, told.close_time)


def _aggregate_trades(rows: Sequence[AggregateTradeWire]) -> tuple[Trade, ...]:
    return tuple(each.to_domain() for each in rows)


def _candles(rows: Sequence[KlineWire]) -> tuple[Candle, ...]:
    return tuple(each.to_domain() for each in rows)
