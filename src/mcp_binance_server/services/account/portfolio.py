"""Balances, their value, and the portfolio analysis."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from mcp_binance_server.analytics.portfolio.measures import REFERENCE
from mcp_binance_server.analytics.portfolio.report import PortfolioReport, judge_portfolio
from mcp_binance_server.analytics.portfolio.risk import History, chained, daily_closes, inverted
from mcp_binance_server.analytics.portfolio.valuation import Portfolio, find_route, value_portfolio
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.account import AccountView, Commission, KeyRights, Venue
from mcp_binance_server.domain.account_reader import AccountReader
from mcp_binance_server.domain.money import STABLECOINS, Price
from mcp_binance_server.domain.orders import FINAL_STATUS, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.gathering import gather

# Ninety closes give eighty-nine returns. The extra row is today's unfinished candle.
DAYS = 91
INVERSE = "1/"
STOPS = frozenset({"STOP_LOSS", "STOP_LOSS_LIMIT"})
# Currencies with the USDT as their quote asset: EURUSDT.
CURRENCIES = frozenset({"EUR", "GBP", "AUD"})


@dataclass(frozen=True, slots=True)
class ValuedAccount:
    """The valued holdings, the prices used, the venue that answered, and the time."""

    portfolio: Portfolio
    prices: Mapping[Symbol, Price]
    venue: Venue
    as_of_ms: int
    commission: Commission | None = None


@dataclass(frozen=True, slots=True)
class AccountService:
    """Balances and key permissions of one principal, and the value of the balances."""

    client: AccountReader
    market: SpotClient

    @property
    def has_key(self) -> bool:
        return self.client.has_key

    async def account(self) -> AccountView:
        """Return the account, dated by the exchange's clock. The answer itself has no timestamp."""
        reading = await self.client.account()
        return AccountView(reading.value, self.client.venue(reading.host), reading.at_ms)

    async def with_key_rights(self) -> tuple[AccountView, KeyRights | None]:
        """Return the account, and the key's permissions if the exchange reports them. Both are read concurrently."""
        self.client.require_key()
        told, rights = await gather(self.account, self.client.key_rights)
        return told.required(), rights.value

    async def valued(self) -> ValuedAccount:
        """Return the holdings, valued at the last prices. Balances and prices are read concurrently."""
        self.client.require_key()
        held, priced = await gather(self.client.account, self.market.prices)
        reading, prices = held.required(), priced.required()
        portfolio = value_portfolio(reading.value.holdings, prices.value)
        at_ms = min(reading.at_ms, prices.at_ms)
        venue = self.client.venue(reading.host)
        return ValuedAccount(portfolio, prices.value, venue, at_ms, reading.value.commission)


@dataclass(frozen=True, slots=True)
class JudgedPortfolio:
    """The holdings of an account, the venue that answered, and the risk report."""

    valued: ValuedAccount
    report: PortfolioReport


@dataclass(frozen=True, slots=True)
class PortfolioService:
    """Risk analysis of the account's holdings."""

    account: AccountService
    client: SpotClient
    time: ServerTime
    thresholds: Thresholds = DEFAULTS

    async def risk(self) -> PortfolioReport:
        """Return the risk report, based on ninety daily closes of the largest holdings and on the live stop orders."""
        valued = await self.account.valued()
        is_large = any(
            not each.is_stable and (each.weight or Decimal(0)) >= self.thresholds.position_ceiling
            for each in valued.portfolio.holdings
        )
        if not is_large:
            return await self._report(valued, {})
        (orders,) = await gather(self.account.client.open_orders)
        return await self._report(valued, None if orders.value is None else stop_quantities(valued, orders.value.value))

    async def judged(self) -> JudgedPortfolio:
        """Return the risk report together with the account that was judged. Its advice ignores stop orders."""
        valued = await self.account.valued()
        return JudgedPortfolio(valued, await self._report(valued, None))

    async def _report(self, valued: ValuedAccount, stops: Mapping[str, Decimal] | None) -> PortfolioReport:
        routes = _routes(valued, self.thresholds.risk_max_assets)
        legs = tuple(dict.fromkeys(leg for route in routes.values() for leg in route))
        parts = await gather(*(partial(self._closes, leg) for leg in legs))
        known: dict[str, History] = {leg: part.value for leg, part in zip(legs, parts, strict=True) if part.value}
        histories = {
            asset: _history(route, known) for asset, route in routes.items() if all(leg in known for leg in route)
        }
        missing = tuple(
            f"daily candles of {leg.removeprefix(INVERSE)}: {part.failure.message}"
            for leg, part in zip(legs, parts, strict=True)
            if part.failure is not None
        )
        return judge_portfolio(
            valued.portfolio,
            histories,
            as_of_ms=valued.as_of_ms,
            missing=missing,
            stops=stops,
            thresholds=self.thresholds,
        )

    async def _closes(self, leg: str) -> dict[int, Price]:
        reading = await self.client.daily_candles(Symbol(leg.removeprefix(INVERSE)), DAYS)
        closes = daily_closes(reading.value, until_ms=self.time.now_ms())
        return inverted(closes) if leg.startswith(INVERSE) else closes


def stop_quantities(valued: ValuedAccount, orders: Iterable[Order]) -> dict[str, Decimal]:
    """Return the quantity of each held asset that live stop orders sell for money.

    A sale for another coin does not count, because it leaves the risk of that coin.
    """
    found: dict[str, Decimal] = {}
    for each in valued.portfolio.holdings:
        for order in orders:
            quote = order.symbol.removeprefix(each.asset)
            is_stop = order.side == "SELL" and order.kind in STOPS and order.status not in FINAL_STATUS
            if is_stop and quote != order.symbol and _is_money(quote, valued.prices):
                found[each.asset] = found.get(each.asset, Decimal(0)) + order.remaining
    return found


def _is_money(quote: str, prices: Mapping[Symbol, Price]) -> bool:
    # The exchange quotes most other currencies as the price of a USDT: USDTTRY, USDTBRL.
    return quote in STABLECOINS or f"USDT{quote}" in prices or quote in CURRENCIES


def _routes(valued: ValuedAccount, most: int) -> dict[str, tuple[str, ...]]:
    """Return the symbols whose daily candles form each holding's history. Bitcoin is included as the reference."""
    holdings = valued.portfolio.holdings
    wanted = [each.asset for each in holdings[:most]]
    if any(not each.is_stable for each in holdings):
        wanted.append(REFERENCE)
    routes = {asset: find_route(asset, valued.prices).legs for asset in wanted}
    return {asset: legs for asset, legs in routes.items() if legs}


def _history(route: tuple[str, ...], known: dict[str, History]) -> History:
    whole = known[route[0]]
    for leg in route[1:]:
        whole = chained(whole, known[leg])
    return whole
