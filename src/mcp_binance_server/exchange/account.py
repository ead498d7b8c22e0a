"""The signed side of Spot REST: what one account holds and what it has ordered."""

from dataclasses import dataclass
from typing import TypeVar

import msgspec

from mcp_binance_server.domain.account import Account
from mcp_binance_server.domain.market import Reading
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import InvalidCredentials
from mcp_binance_server.exchange.account_wire import AccountWire, FillWire, OrderWire
from mcp_binance_server.exchange.caller import Caller, Params, Principal
from mcp_binance_server.exchange.endpoints import (
    ACCOUNT,
    ALL_ORDERS,
    MY_TRADES,
    OPEN_ORDERS,
    OPEN_ORDERS_ALL,
    ORDER,
    Endpoint,
)

WireT = TypeVar("WireT")


@dataclass(frozen=True, slots=True)
class AccountClient:
    """Signed reads for one principal; nothing of it is ever shared with another."""

    caller: Caller
    principal: Principal | None

    async def account(self) -> Reading[Account]:
        answer = await self._signed(ACCOUNT, {"omitZeroBalances": "true"}, AccountWire)
        return Reading(answer.value.to_domain(), answer.host)

    async def open_orders(self, symbol: Symbol | None = None) -> Reading[tuple[Order, ...]]:
        """Return the open orders; of all symbols at once that costs thirteen times as much."""
        endpoint, params = (OPEN_ORDERS, {"symbol": symbol}) if symbol else (OPEN_ORDERS_ALL, {})
        return await self._orders(endpoint, params)

    async def order_history(self, symbol: Symbol, limit: int) -> Reading[tuple[Order, ...]]:
        return await self._orders(ALL_ORDERS, {"symbol": symbol, "limit": limit})

    async def order(self, symbol: Symbol, client_order_id: str) -> Reading[Order]:
        answer = await self._signed(ORDER, {"symbol": symbol, "origClientOrderId": client_order_id}, OrderWire)
        return Reading(answer.value.to_domain(), answer.host)

    async def fills(self, symbol: Symbol, limit: int) -> Reading[tuple[Fill, ...]]:
        answer = await self._signed(MY_TRADES, {"symbol": symbol, "limit": limit}, list[FillWire])
        return Reading(tuple(each.to_domain() for each in answer.value), answer.host)

    async def _orders(self, endpoint: Endpoint, params: Params) -> Reading[tuple[Order, ...]]:
        answer = await self._signed(endpoint, params, list[OrderWire])
        return Reading(tuple(each.to_domain() for each in answer.value), answer.host)

    async def _signed(self, endpoint: Endpoint, params: Params, shape: type[WireT]) -> Reading[WireT]:
        if self.principal is None:
            raise InvalidCredentials(
                masked_api_key="not set", help_url=self.caller.network.help_url, reason="no API key is configured"
            )
        body = await self.caller.read(endpoint, params, shape, self.principal)
        return Reading(msgspec.json.decode(body.content, type=shape), body.host)
