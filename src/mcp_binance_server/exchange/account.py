"""The signed side of Spot REST: what one account holds and what it has ordered."""

from dataclasses import dataclass, replace
from typing import TypeVar

from mcp_binance_server.domain.account import Account, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import NOT_LENT, NOT_SET, InvalidCredentials
from mcp_binance_server.exchange.account_wire import AccountWire, FillWire, OrderWire
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.diagnosis import home_of
from mcp_binance_server.exchange.endpoints import (
    ACCOUNT,
    ALL_ORDERS,
    MY_TRADES,
    OPEN_ORDERS,
    OPEN_ORDERS_ALL,
    ORDER,
    Endpoint,
)
from mcp_binance_server.exchange.principal import Principal

WireT = TypeVar("WireT")

WHO_MAY_BORROW = (
    "It is lent to programs on the server's own machine that no proxy stands before, and to tokens of its token file "
    "that come from that machine, over TLS or through a trusted proxy that says https."
)

# The trades of one known order are a quarter of the price: .../rest-api/account-endpoints#account-trade-list-user_data
MY_TRADES_OF_ORDER = replace(MY_TRADES, weight=5)


@dataclass(frozen=True, slots=True)
class AccountClient:
    """Signed reads for one principal; nothing of it is ever shared with another."""

    caller: ExchangeCaller
    principal: Principal | None
    is_withheld: bool = False
    """Whether there is a key that the one who asks is not lent."""

    def require_key(self) -> Principal:
        """Return whose account this is.

        Raises:
            InvalidCredentials: no key is configured, or none is lent; found out without any request.
        """
        if self.principal is None:
            network = self.caller.network
            error = InvalidCredentials(
                masked_api_key=NOT_SET,
                help_url=network.help_url,
                network=network.name,
                reason="no API key is configured",
            )
            if self.is_withheld:
                error.reason, error.likely_cause = "this server's own key is not lent to you", NOT_LENT
                error.explanation = WHO_MAY_BORROW
            raise error
        return self.principal

    def venue(self, host: str) -> Venue:
        """Name who answered; a host that is known to be another network's own decides, whatever was configured."""
        network = self.caller.network
        return Venue(home_of(host) or network.name, host, network.simulated)

    async def account(self) -> Sourced[Account]:
        answer = await self._signed(ACCOUNT, {"omitZeroBalances": "true"}, AccountWire)
        return answer.holding(answer.value.to_domain())

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]:
        """Return the open orders; of all symbols at once that costs thirteen times as much."""
        endpoint, params = (OPEN_ORDERS, {"symbol": symbol}) if symbol else (OPEN_ORDERS_ALL, {})
        return await self._orders(endpoint, params)

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of every status, oldest first: the newest, or with a start those that follow it."""
        params = _given(symbol=symbol, startTime=start_ms, endTime=end_ms, limit=limit)
        return await self._orders(ALL_ORDERS, params)

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by either of its ids."""
        params = _given(symbol=symbol, orderId=order_id, origClientOrderId=client_order_id)
        answer = await self._signed(ORDER, params, OrderWire)
        return answer.holding(answer.value.to_domain())

    async def fills(self, symbol: Symbol, limit: int, order_id: int | None = None) -> Sourced[tuple[Fill, ...]]:
        """Return the newest trades of the account, oldest first."""
        endpoint = MY_TRADES if order_id is None else MY_TRADES_OF_ORDER
        answer = await self._signed(endpoint, _given(symbol=symbol, orderId=order_id, limit=limit), list[FillWire])
        return answer.holding(tuple(each.to_domain() for each in answer.value))

    async def _orders(self, endpoint: Endpoint, params: Params) -> Sourced[tuple[Order, ...]]:
        answer = await self._signed(endpoint, params, list[OrderWire])
        return answer.holding(tuple(each.to_domain() for each in answer.value))

    async def _signed(self, endpoint: Endpoint, params: Params, shape: type[WireT]) -> Sourced[WireT]:
        body = await self.caller.read(endpoint, params, shape, self.require_key())
        return Sourced(body.value, body.host, "configured", body.at_ms)


def _given(**params: str | int | None) -> Params:
    return {name: value for name, value in params.items() if value is not None}
