"""Size of one trade, from the current book and account, checked against the rules of preview_order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.portfolio.valuation import find_route, value_portfolio
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.trend.levels import NoLevels, TradeLevels
from mcp_binance_server.analytics.trend.outlook import Outlook
from mcp_binance_server.analytics.trend.size import (
    NOTHING,
    NoOrder,
    OwnFunds,
    SizeBasis,
    SizedOrder,
    SizeReport,
    size_order,
)
from mcp_binance_server.domain.account import Account
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.market import BookSnapshot, MarketView
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.account.preview import LEVELS
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.trading.judgement.filters import check, closed
from mcp_binance_server.trading.judgement.intent import OrderIntent, Touch
from mcp_binance_server.trading.judgement.preview import USUAL

ROUND_SUM = Decimal(10_000)
# Quote assets that count as dollars. They need no price list.
DOLLAR_QUOTES = frozenset({"USDT", "USDC", "FDUSD"})


@dataclass(frozen=True, slots=True)
class SizeReadings:
    """Inputs for the size of a trade, read at one moment.

    Account, orders and prices are None without a usable key.
    """

    book: BookSnapshot
    account: Account | None
    orders: tuple[Order, ...] | None
    prices: Mapping[Symbol, Price] | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SizeService:
    """Trade sizes from the book. With a key, they also use the account and its open orders on the symbol."""

    client: SpotClient
    account: AccountReader
    thresholds: Thresholds = DEFAULTS

    async def read(self, symbol: Symbol) -> SizeReadings:
        """Read the inputs for a size. `missing` lists the inputs that cannot be read, with the errors.

        Raises:
            AppError: the book cannot be read.
        """
        depth, account, orders, prices = await gather(
            lambda: self.client.depth(symbol, LEVELS),
            self._account,
            lambda: self._orders(symbol),
            self._prices,
        )
        book = depth.required().value
        failed = {"your account": account, "your open orders": orders, "prices": prices}
        missing = tuple(f"{name}: {part.failure.message}" for name, part in failed.items() if part.failure is not None)
        return SizeReadings(book, account.value, orders.value, prices.value, missing)

    async def size(self, view: MarketView, outlook: Outlook, read: SizeReadings | None) -> SizeReport:
        """Size the trade by the levels of the 24-hour range, or return why there is no order.

        preview_order accepts each size that is returned here.
        """
        basis = None if read is None else await self._basis(view.rules, read)
        return SizeReport(self._verdict(view, outlook, basis), basis.funds if basis else None)

    async def _basis(self, rules: SymbolRules, read: SizeReadings) -> SizeBasis:
        account, orders, prices = read.account, read.orders, read.prices
        if account is None or orders is None or prices is None:
            if prices is None and rules.quote not in DOLLAR_QUOTES:
                (priced,) = await gather(self.client.prices)
                prices = priced.value.value if priced.value else None
            return SizeBasis(book=read.book, equity=_in_quote(ROUND_SUM, rules.quote, prices or {}), funds=None)
        total = value_portfolio(account.holdings, prices).total
        funds = _funds(rules, account, orders)
        return SizeBasis(book=read.book, equity=_in_quote(total, rules.quote, prices), funds=funds)

    def _verdict(self, view: MarketView, outlook: Outlook, basis: SizeBasis | None) -> SizedOrder | NoOrder:
        if (shut := closed(view.rules, OrderIntent("BUY", "LIMIT"))) is not None:
            return NoOrder("closed", shut.received)
        levels = outlook.by_range
        if isinstance(levels, NoLevels):
            return NoOrder("no_levels", levels.why_null)
        if not outlook.buys:
            return NoOrder("waits")
        if basis is None:
            return NoOrder("unread")
        touch = Touch.of(basis.book)
        if touch.is_crossed:
            return NoOrder("crossed")
        sized = size_order(
            levels,
            view.ticker,
            view.rules,
            basis,
            fraction=outlook.risk_fraction,
            ceiling=self.thresholds.position_ceiling,
        )
        return sized if isinstance(sized, NoOrder) else _kept(view.rules, levels, sized, touch, basis.funds)

    async def _prices(self) -> Mapping[Symbol, Price] | None:
        return (await self.client.prices()).value if self.account.has_key else None

    async def _account(self) -> Account | None:
        return (await self.account.account()).value if self.account.has_key else None

    async def _orders(self, symbol: Symbol) -> tuple[Order, ...] | None:
        # Request only this symbol's orders: a request for all symbols costs thirteen times as much.
        return (await self.account.open_orders(symbol)).value if self.account.has_key else None


def _kept(
    rules: SymbolRules, levels: TradeLevels, sized: SizedOrder, touch: Touch, funds: OwnFunds | None
) -> SizedOrder | NoOrder:
    """Return the order if the exchange accepts it at both ends of the price band. Otherwise return the broken rule."""
    if funds is not None and rules.max_num_orders and funds.open_orders >= rules.max_num_orders:
        return NoOrder("orders_full")
    for price in (levels.entry_high, levels.entry_low):
        order = OrderIntent("BUY", "LIMIT", quantity=sized.quantity, price=price)
        verdict = check(rules, order, touch, None if funds is None else funds.held)
        if verdict.broken:
            return NoOrder("rule", verdict.broken[0].rule)
    return sized


def _in_quote(dollars: Decimal, quote: str, prices: Mapping[Symbol, Price]) -> Decimal | None:
    if quote in DOLLAR_QUOTES:
        return dollars
    worth = find_route(quote, prices).price
    return dollars / worth if worth else None


def _funds(rules: SymbolRules, account: Account, orders: Sequence[Order]) -> OwnFunds:
    balances = {each.asset: each for each in account.balances}
    quote, base = balances.get(rules.quote), balances.get(rules.base)
    waiting = [each for each in orders if each.side == "BUY"]
    return OwnFunds(
        open_orders=len(orders),
        free=quote.free if quote else Quantity(NOTHING),
        held=base.total if base else Quantity(NOTHING),
        ordered=Quantity(sum((each.remaining for each in waiting), NOTHING)),
        ordered_value=sum((each.remaining * each.working_price for each in waiting), NOTHING),
        taker=(account.commission or USUAL).taker,
    )
