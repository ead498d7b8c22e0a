"""Queries of a paper account. The methods and answers are those of an account at the exchange."""

from dataclasses import dataclass, replace
from typing import TypeVar

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.domain.account import Account, Commission, KeyRights, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import ExchangeRejected, InsufficientScope
from mcp_binance_server.trading.judgement.preview import USUAL
from mcp_binance_server.trading.paper.account import account_of
from mcp_binance_server.trading.paper.exchange import PaperExchange, with_loss

ValueT = TypeVar("ValueT")

HOST = "paper"


@dataclass(frozen=True, slots=True)
class PaperReads:
    """Queries of one paper account. Without a visitor (caller), there is no account."""

    exchange: PaperExchange
    network: str
    account_id: str | None = None
    rates: Commission = USUAL

    def of_visitor(self, visitor: Visitor | None) -> "PaperReads":
        """Return the queries of a visitor's own account. If the visitor is None, there is no account."""
        return replace(self, account_id=None if visitor is None else account_of(visitor))

    @property
    def has_key(self) -> bool:
        return self.account_id is not None

    def require_key(self) -> str:
        """Return the ID of this account.

        Raises:
            InsufficientScope: the caller may not read an account.
        """
        if self.account_id is None:
            raise InsufficientScope(needed_scopes=("account:read",))
        return self.account_id

    def venue(self, _host: str) -> Venue:
        return Venue(self.network, HOST, simulated=True, note=self.exchange.loss())

    async def account(self) -> Sourced[Account]:
        holds = await self.exchange.account(self.require_key())
        return self._read(
            Account(
                balances=tuple(each for each in holds.balances if each.total),
                can_trade=True,
                can_withdraw=False,
                can_deposit=False,
                updated_ms=self.exchange.now_ms(),
                commission=self.rates,
            )
        )

    async def key_rights(self) -> KeyRights | None:
        """Return None: a paper account has no key."""
        return None

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]:
        rows = await self.exchange.open_orders(self.require_key())
        return self._read(tuple(each.order for each in rows if symbol in (None, each.order.symbol)))

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of every status, oldest first.

        Without `start_ms` these are the newest orders, otherwise the first orders since `start_ms`.
        """
        rows = await self.exchange.orders(self.require_key(), symbol, limit, start_ms, end_ms)
        return self._read(tuple(each.order for each in rows))

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by either of its IDs.

        Raises:
            ExchangeRejected: there is no such order, in the exchange's words, with a note if accounts were lost.
        """
        row = await self.exchange.find(self.require_key(), symbol, client_order_id, order_id)
        if row is None:
            told = "Order does not exist."
            raise ExchangeRejected(exchange_code=-2013, exchange_message=with_loss(told, self.exchange.loss()))
        return self._read(row.order)

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

        Without times, return the newest trades. With `end_ms`, return the newest trades until then; with `start_ms`,
        the first trades since then. Use only one of `order_id`, `start_ms` and `end_ms`.
        """
        found = await self.exchange.fills(self.require_key(), symbol, limit, order_id, start_ms=start_ms, end_ms=end_ms)
        return self._read(tuple(found))

    def _read(self, value: ValueT) -> Sourced[ValueT]:
        return Sourced(value, HOST, "configured", self.exchange.now_ms())
