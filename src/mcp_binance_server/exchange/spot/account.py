"""Signed reads of an account: balances, orders, trades, and the permissions of its key."""

import logging
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeVar

import anyio
import msgspec

from mcp_binance_server.domain.account import Account, Balance, Commission, KeyRights, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import NOT_LENT, NOT_SET, AppError, InvalidCredentials
from mcp_binance_server.exchange.attempt import Params
from mcp_binance_server.exchange.caller import ExchangeCaller
from mcp_binance_server.exchange.diagnosis import home_of
from mcp_binance_server.exchange.endpoints import ORDER, Endpoint
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.endpoints import (
    ACCOUNT,
    ALL_ORDERS,
    KEY_RIGHTS,
    MY_TRADES,
    OPEN_ORDERS,
    OPEN_ORDERS_ALL,
)
from mcp_binance_server.exchange.spot.order_wire import NO_LIST, OrderStateWire
from mcp_binance_server.exchange.wire import (
    Amount,
    BinanceWire,
    Count,
    CountOrNone,
    EpochMs,
    SignedAmount,
    price,
    quantity,
)
from mcp_binance_server.words import word

WireT = TypeVar("WireT")

WHO_MAY_BORROW = (
    "Programs on the server's machine can use the key if they connect without a proxy. Callers with a token of the "
    "token "
    "file can use it from that machine, over TLS, or through a trusted proxy that reports https."
)

# With an order ID the call costs a quarter of the weight: .../rest-api/account-endpoints#account-trade-list-user_data
MY_TRADES_OF_ORDER = replace(MY_TRADES, weight=5)

LOG = logging.getLogger(__name__)

# Only mainnet can report the permissions of a key.
TELLS_RIGHTS = "mainnet"
# Longest wait for the permissions of a key, before an answer is sent without them.
PATIENCE_SECS = 3.0


class BalanceWire(BinanceWire):
    asset: str
    free: Amount
    locked: Amount

    def to_domain(self) -> Balance:
        return Balance(word(self.asset), quantity(self.free), quantity(self.locked))


class CommissionWire(BinanceWire):
    maker: SignedAmount
    taker: SignedAmount

    def to_domain(self) -> Commission:
        return Commission(Decimal(self.maker), Decimal(self.taker))


class AccountWire(BinanceWire):
    can_trade: bool
    can_withdraw: bool
    can_deposit: bool
    update_time: EpochMs
    balances: list[BalanceWire]
    account_type: str = "SPOT"
    permissions: tuple[str, ...] = ()
    commission_rates: CommissionWire | None = None

    def to_domain(self) -> Account:
        return Account(
            balances=tuple(each.to_domain() for each in self.balances),
            can_trade=self.can_trade,
            can_withdraw=self.can_withdraw,
            can_deposit=self.can_deposit,
            updated_ms=self.update_time,
            kind=word(self.account_type),
            permissions=tuple(map(word, self.permissions)),
            commission=self.commission_rates.to_domain() if self.commission_rates else None,
        )


class OrderWire(OrderStateWire, kw_only=True):
    """An order as a query returns it."""

    time: EpochMs
    update_time: EpochMs
    order_list_id: CountOrNone = NO_LIST

    def to_domain(self) -> Order:
        order = self.standing(self.client_order_id, self.time, self.update_time)
        return order if self.order_list_id == NO_LIST else replace(order, list_id=str(self.order_list_id))


class FillWire(BinanceWire):
    symbol: str
    id: Count
    order_id: Count
    price: Amount
    qty: Amount
    quote_qty: Amount
    commission: SignedAmount
    commission_asset: str
    time: EpochMs
    is_buyer: bool
    is_maker: bool

    def to_domain(self) -> Fill:
        return Fill(
            trade_id=self.id,
            order_id=self.order_id,
            symbol=Symbol(word(self.symbol)),
            price=price(self.price),
            quantity=quantity(self.qty),
            quote_quantity=quantity(self.quote_qty),
            commission=quantity(self.commission),
            commission_asset=word(self.commission_asset),
            time_ms=self.time,
            is_buyer=self.is_buyer,
            is_maker=self.is_maker,
        )


@dataclass(frozen=True, slots=True)
class AccountClient:
    """Signed reads for one principal; their results are never shared with another principal."""

    caller: ExchangeCaller
    principal: Principal | None
    is_withheld: bool = False
    """Whether there is a key that this caller may not use."""

    @property
    def has_key(self) -> bool:
        return self.principal is not None

    def require_key(self) -> Principal:
        """Return the principal of the account.

        Raises:
            InvalidCredentials: no key is configured, or the caller may not use it; no request is sent.
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
                error.reason, error.likely_cause = "this server's own key is not available to you", NOT_LENT
                error.explanation = WHO_MAY_BORROW
            raise error
        return self.principal

    def venue(self, host: str) -> Venue:
        """Return the network of the host that answered. For an unknown host, return the configured network."""
        network = self.caller.network
        return Venue(home_of(host) or network.source, host, network.simulated)

    async def account(self) -> Sourced[Account]:
        answer = await self._signed(ACCOUNT, {"omitZeroBalances": "true"}, AccountWire)
        return answer.holding(answer.value.to_domain())

    async def key_rights(self) -> KeyRights | None:
        """Return the permissions of the key; None if the network cannot report them, or not in time."""
        if self.principal is None or self.caller.network.name != TELLS_RIGHTS:
            return None
        try:
            with anyio.move_on_after(PATIENCE_SECS):
                return await read_key_rights(self)
        except AppError as error:
            LOG.info("the rights of the key could not be read: %s", error.error_type)
        return None

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]:
        """Return the open orders of a symbol, or of all symbols at thirteen times the weight."""
        endpoint, params = (OPEN_ORDERS, {"symbol": symbol}) if symbol else (OPEN_ORDERS_ALL, {})
        return await self._orders(endpoint, params)

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of every status, oldest first: the newest ones, or the first ones after `start_ms`."""
        params = _given(symbol=symbol, startTime=start_ms, endTime=end_ms, limit=limit)
        return await self._orders(ALL_ORDERS, params)

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by its client order ID or its exchange order ID."""
        params = _given(symbol=symbol, orderId=order_id, origClientOrderId=client_order_id)
        answer = await self._signed(ORDER, params, OrderWire)
        return answer.holding(answer.value.to_domain())

    async def fills(
        self,
        symbol: Symbol,
        limit: int,
        order_id: int | None = None,
        *,
        start_ms: int | None = None,
        end_ms: int | None = None,
    ) -> Sourced[tuple[Fill, ...]]:
        """Return trades of the account, oldest first.

        Without a filter these are the newest trades. An order, a start and an end exclude each other. A start selects
        the first trades after it, an end the last trades before it.
        """
        endpoint = MY_TRADES if order_id is None else MY_TRADES_OF_ORDER
        params = _given(symbol=symbol, orderId=order_id, startTime=start_ms, endTime=end_ms, limit=limit)
        answer = await self._signed(endpoint, params, list[FillWire])
        return answer.holding(tuple(each.to_domain() for each in answer.value))

    async def _orders(self, endpoint: Endpoint, params: Params) -> Sourced[tuple[Order, ...]]:
        answer = await self._signed(endpoint, params, list[OrderWire])
        return answer.holding(tuple(each.to_domain() for each in answer.value))

    async def _signed(self, endpoint: Endpoint, params: Params, shape: type[WireT]) -> Sourced[WireT]:
        body = await self.caller.read(endpoint, params, shape, self.require_key())
        return Sourced(body.value, body.host, "configured", body.at_ms)


def _given(**params: str | int | None) -> Params:
    return {name: value for name, value in params.items() if value is not None}


class KeyRightsWire(msgspec.Struct, rename="camel"):
    ip_restrict: bool
    enable_reading: bool
    enable_withdrawals: bool
    enable_spot_and_margin_trading: bool = False
    enable_internal_transfer: bool | None = None
    permits_universal_transfer: bool | None = None
    enable_margin: bool = False
    enable_futures: bool = False
    enable_vanilla_options: bool = False
    enable_portfolio_margin_trading: bool = False

    def to_domain(self) -> KeyRights:
        return KeyRights(
            reading=self.enable_reading,
            spot_trading=self.enable_spot_and_margin_trading,
            withdrawals=self.enable_withdrawals,
            ip_restricted=self.ip_restrict,
            internal_transfer=self.enable_internal_transfer,
            universal_transfer=self.permits_universal_transfer,
            margin=self.enable_margin,
            futures=self.enable_futures,
            options=self.enable_vanilla_options,
            portfolio_margin=self.enable_portfolio_margin_trading,
        )


async def read_key_rights(account: AccountClient) -> KeyRights:
    """Read the permissions of this account's key.

    Raises:
        AppError: as with every signed read; ExchangeRejected if the host does not have this call.
    """
    body = await account.caller.read(KEY_RIGHTS, {}, KeyRightsWire, account.require_key())
    return body.value.to_domain()


async def warn_of_rights(account: AccountClient) -> None:
    """Log a key's dangerous permissions in one line; without any, log nothing."""
    rights = await account.key_rights()
    if rights is None or account.principal is None or not rights.dangers:
        return
    level = logging.ERROR if rights.withdrawals else logging.WARNING
    where = account.caller.network.help_url
    LOG.log(level, "key %s: %s. See %s", account.principal.credentials.masked, ". ".join(rights.dangers), where)
