"""The account as a caller asks for it: what it holds and what it may do."""

from collections.abc import Mapping
from dataclasses import dataclass

from mcp_binance_server.analytics.portfolio.valuation import Portfolio, value_portfolio
from mcp_binance_server.domain.account import AccountView, KeyRights, Venue
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.account import AccountClient
from mcp_binance_server.exchange.key_rights import find_key_rights
from mcp_binance_server.exchange.rest import SpotClient
from mcp_binance_server.services.gathering import gather


@dataclass(frozen=True, slots=True)
class ValuedAccount:
    """What the holdings are worth at which prices, who answered, and when."""

    portfolio: Portfolio
    prices: Mapping[Symbol, Price]
    venue: Venue
    as_of_ms: int


@dataclass(frozen=True, slots=True)
class AccountService:
    """Balances and rights of one principal, and what they are worth."""

    client: AccountClient
    market: SpotClient

    @property
    def has_key(self) -> bool:
        return self.client.principal is not None

    async def account(self) -> AccountView:
        """Return the account; its answer has no time of its own, so it is dated by the exchange's clock."""
        reading = await self.client.account()
        return AccountView(reading.value, self.client.venue(reading.host), reading.at_ms)

    async def with_key_rights(self) -> tuple[AccountView, KeyRights | None]:
        """Return the account and what its key may do, where the exchange tells it; both are read at once."""
        self.client.require_key()
        told, rights = await gather(self.account, lambda: find_key_rights(self.client))
        return told.required(), rights.value

    async def valued(self) -> ValuedAccount:
        """Value the holdings at the last prices, both read at once."""
        self.client.require_key()
        held, priced = await gather(self.client.account, self.market.prices)
        reading, prices = held.required(), priced.required()
        portfolio = value_portfolio(reading.value.holdings, prices.value)
        at_ms = min(reading.at_ms, prices.at_ms)
        return ValuedAccount(portfolio, prices.value, self.client.venue(reading.host), at_ms)
