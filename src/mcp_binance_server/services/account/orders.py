"""Orders and trades of one account, for one symbol in the caller's spelling or for all symbols."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import TypeVar

from mcp_binance_server.domain.account import Balance
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.orders import (
    AccountFills,
    Fill,
    OneOrder,
    OpenOrders,
    Order,
    OrderHistory,
    OrdersOfSymbol,
)
from mcp_binance_server.domain.periods import DAY_MS, LATEST_MS, Period, Written, read_period
from mcp_binance_server.domain.symbols import Symbol, SymbolRules, SymbolTable
from mcp_binance_server.errors import ExchangeUnavailable, InvalidArguments, InvalidSymbol
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.directory import Directory
from mcp_binance_server.exchange.spot.endpoints import ACCOUNT, ALL_ORDERS, OPEN_ORDERS_ALL
from mcp_binance_server.services.account.trade_pages import MOST_ROWS, cut_page, oldest_first
from mcp_binance_server.services.gathering import gather

ReadT = TypeVar("ReadT")
MarketOrders = Callable[[Collection[str]], Awaitable[Collection[str]]]
"""Function that returns the given order IDs that were placed here as market orders."""

# Type and time in force of a market order at the exchange.
SENT_AS = ("LIMIT", "IOC")
HISTORY_SYMBOLS = 5
HISTORY_ROWS = 50
STABLE = ("USDT", "USDC", "FDUSD")
# Likely quote assets of a holding's market, most likely first.
QUOTES = (*STABLE, "BTC", "ETH", "BNB")


@dataclass(frozen=True, slots=True)
class OrdersService:
    """Orders of one principal. A missing key is reported before any request is sent.

    A market order that was placed here is listed as MARKET. At the exchange it is a limit order at its worst price.
    """

    client: AccountReader
    directory: Directory
    time: ServerTime
    market_orders: MarketOrders | None = None

    async def open(self, text: str | None = None) -> OpenOrders:
        """Return the open orders, of one symbol or of all."""
        self.client.require_key()
        if text is None:
            reading = await self.client.open_orders()
            rules = _listed(await self.directory.table(), reading.value)
        else:
            found = await self.directory.find(text)
            reading = await self._asked(lambda: self.client.open_orders(found.symbol))
            rules = {found.symbol: found}
        orders = await self._as_placed(reading.value)
        return OpenOrders(orders, rules, self.client.venue(reading.host), reading.at_ms)

    async def all(
        self, text: str, limit: int, start: Written | None = None, end: Written | None = None
    ) -> OrdersOfSymbol:
        """Return the newest orders of a symbol in any status. A period limits them.

        Raises:
            InvalidArguments: the period is malformed, or the exchange would refuse it.
        """
        self.client.require_key()
        period = _day_at_most(read_period(start, end, self.time.now_ms()))
        rules = await self.directory.find(text)
        # With a start, the exchange returns the oldest rows up to its limit. So request the most rows and keep the
        # newest.
        asked_for = min(limit + 1, MOST_ROWS) if period.start_ms is None else MOST_ROWS
        reading = await self._asked(
            lambda: self.client.order_history(rules.symbol, asked_for, period.start_ms, period.end_ms)
        )
        found = _newest_last(reading.value)
        is_full = len(found) == MOST_ROWS
        return OrdersOfSymbol(
            orders=await self._as_placed(found[-limit:]),
            rules=rules,
            venue=self.client.venue(reading.host),
            as_of_ms=reading.at_ms,
            older=len(found) > limit or (is_full and period.start_ms is None),
            newer=is_full and period.start_ms is not None,
        )

    async def one(self, text: str, *, order_id: int | None = None, client_order_id: str | None = None) -> OneOrder:
        """Return one order by either of its ids."""
        self.client.require_key()
        rules = await self.directory.find(text)
        reading = await self._asked(lambda: self.client.order(rules.symbol, client_order_id, order_id=order_id))
        (order,) = await self._as_placed((reading.value,))
        return OneOrder(order, rules, self.client.venue(reading.host), reading.at_ms)

    async def fills(
        self, texts: Sequence[str], limit: int, start: Written | None = None, end: Written | None = None
    ) -> AccountFills:
        """Return a page of the account's trades on some symbols: the newest ones, or the first ones from `start` on.

        One call per symbol is enough, because the first trades overall are among the first trades of each symbol.

        Raises:
            InvalidArguments: the period is malformed.
        """
        self.client.require_key()
        period = read_period(start, end, self.time.now_ms())
        rules = {each.symbol: each for each in [await self.directory.find(text) for text in texts]}
        parts = await gather(*(partial(self._fills_of, symbol, period) for symbol in rules))
        # A history with a gap would look complete. So one failed symbol fails the whole page.
        readings = [part.required() for part in parts]
        until_ms = LATEST_MS if period.end_ms is None else period.end_ms
        found = [[fill for fill in each.value if fill.time_ms <= until_ms] for each in readings]
        forward = period.start_ms is not None
        page = cut_page(found, limit, forward=forward)
        return AccountFills(
            fills=page.fills,
            rules=rules,
            venue=self.client.venue(readings[0].host),
            as_of_ms=min(each.at_ms for each in readings),
            older=page.goes_on and not forward,
            newer=page.goes_on and forward,
        )

    async def fills_of_order(self, text: str, order_id: int, limit: int) -> AccountFills:
        """Return the newest trades of one order, at a quarter of the weight of a query by symbol."""
        self.client.require_key()
        rules = await self.directory.find(text)
        asked_for = min(limit + 1, MOST_ROWS)
        reading = await self._asked(lambda: self.client.fills(rules.symbol, asked_for, order_id))
        found = tuple(sorted(reading.value, key=oldest_first))
        return AccountFills(
            fills=found[-limit:],
            rules={rules.symbol: rules},
            venue=self.client.venue(reading.host),
            as_of_ms=reading.at_ms,
            older=len(found) > limit or len(found) == MOST_ROWS,
        )

    async def history(self) -> OrderHistory:
        """Return the newest orders of a few symbols. The exchange returns the history of only one symbol per call."""
        account = await self.client.account()
        open_now = (await self.client.open_orders()).value
        table = await self.directory.table()
        symbols = _symbols_of_interest(table, open_now, account.value.holdings)
        asked, not_asked = symbols[:HISTORY_SYMBOLS], symbols[HISTORY_SYMBOLS:]
        parts = await gather(*(partial(self._history_of, symbol) for symbol in asked))
        for part in parts:
            # A symbol that does not answer is a gap; a refused key fails the whole answer.
            if part.failure is not None and not isinstance(part.failure, ExchangeUnavailable):
                raise part.failure
        readings: list[Sourced[tuple[Order, ...]] | None] = [part.value for part in parts]
        found = [order for reading in readings if reading for order in reading.value]
        newest_first = _newest_last(found)[::-1]
        return OrderHistory(
            orders=await self._as_placed(newest_first[:HISTORY_ROWS]),
            rules=_listed(table, found),
            asked=asked,
            not_asked=not_asked,
            failed=tuple(symbol for symbol, reading in zip(asked, readings, strict=True) if reading is None),
            cut=any(reading and len(reading.value) == HISTORY_ROWS for reading in readings)
            or len(newest_first) > HISTORY_ROWS,
            calls=2 + len(asked),
            weight=ACCOUNT.weight + OPEN_ORDERS_ALL.weight + len(asked) * ALL_ORDERS.weight,
            venue=self.client.venue(account.host),
            as_of_ms=account.at_ms,
        )

    async def _fills_of(self, symbol: Symbol, period: Period) -> Sourced[tuple[Fill, ...]]:
        # The exchange refuses a start and an end that are more than a day apart. So send only the start, and apply the
        # end here.
        end_ms = period.end_ms if period.start_ms is None else None
        return await self._asked(lambda: self.client.fills(symbol, MOST_ROWS, start_ms=period.start_ms, end_ms=end_ms))

    async def _as_placed(self, orders: tuple[Order, ...]) -> tuple[Order, ...]:
        sent = [each.client_order_id for each in orders if (each.kind, each.time_in_force) == SENT_AS]
        found = await self.market_orders(sent) if self.market_orders is not None and sent else ()
        as_market = {"kind": "MARKET", "price": Price(Decimal(0))}
        return tuple(replace(each, **as_market) if each.client_order_id in found else each for each in orders)

    async def _history_of(self, symbol: Symbol) -> Sourced[tuple[Order, ...]]:
        return await self.client.order_history(symbol, HISTORY_ROWS)

    async def _asked(self, call: Callable[[], Awaitable[ReadT]]) -> ReadT:
        try:
            return await call()
        except InvalidSymbol:
            await self.directory.doubt()
            raise


def _day_at_most(period: Period) -> Period:
    # https://developers.binance.com/docs/binance-spot-api-docs/rest-api/account-endpoints#all-orders-user_data
    if period.start_ms is not None and period.end_ms is not None and period.end_ms - period.start_ms > DAY_MS:
        problem = "more than 24 hours after start; Binance allows at most 24. Give only one, or one day at a time"
        raise InvalidArguments(
            summary=f"Invalid time: end: {problem}", errors=({"argument": "end", "problem": problem},)
        )
    return period


def _newest_last(orders: Iterable[Order]) -> tuple[Order, ...]:
    return tuple(sorted(orders, key=lambda order: (order.created_ms, order.order_id)))


def _listed(table: SymbolTable, orders: Iterable[Order]) -> dict[Symbol, SymbolRules]:
    symbols = {order.symbol for order in orders}
    return {symbol: rules for symbol in symbols if (rules := table.find(symbol)) is not None}


def _symbols_of_interest(
    table: SymbolTable, open_orders: Iterable[Order], holdings: Iterable[Balance]
) -> tuple[Symbol, ...]:
    """Return the symbols with open orders, newest first, then the best market of each holding.

    Stablecoins come last.
    """
    ordered = [order.symbol for order in reversed(_newest_last(open_orders))]
    risky_first = sorted((each.asset for each in holdings), key=lambda asset: asset in STABLE)
    held = (_market_of(asset, table) for asset in risky_first)
    return tuple(dict.fromkeys([*(each for each in ordered if table.find(each)), *(each for each in held if each)]))


def _market_of(asset: str, table: SymbolTable) -> Symbol | None:
    found = (table.find(f"{asset}{quote}") for quote in QUOTES)
    return next((rules.symbol for rules in found if rules is not None), None)
