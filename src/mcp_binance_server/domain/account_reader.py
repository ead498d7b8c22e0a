"""What is asked about an account, whoever keeps it: the exchange behind a key, or our own file on paper."""

from typing import Protocol, runtime_checkable

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.domain.account import Account, KeyRights, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol


class AccountReader(Protocol):
    """Reads of one account; nothing of it is ever shared with another."""

    @property
    def has_key(self) -> bool:
        """Whether there is an account to read."""
        ...

    def require_key(self) -> object:
        """Make sure that there is an account to read.

        Raises:
            InvalidCredentials: there is none, or none is lent; found out without any request.
        """
        ...

    def venue(self, host: str, /) -> Venue:
        """Name who keeps the account, where the answer about it came from this host."""
        ...

    async def account(self) -> Sourced[Account]: ...

    async def key_rights(self) -> KeyRights | None:
        """Return what the key may do; None where nobody tells it, or not soon."""
        ...

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]: ...

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of every status, oldest first: the newest, or with a start those that follow it."""
        ...

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by either of its ids."""
        ...

    async def fills(
        self,
        symbol: Symbol,
        limit: int,
        order_id: int | None = None,
        *,
        start_ms: int | None = None,
        end_ms: int | None = None,
    ) -> Sourced[tuple[Fill, ...]]:
        """Return trades of the account, oldest first: the newest, of them all or up to an end, or those after a start.

        Of one order, from a start on or up to an end: one of these at a time.
        """
        ...


@runtime_checkable
class TradesByCaller(Protocol):
    """Places orders for callers: for each on an account of their own, or for all on the one behind our own key."""

    def of_caller(self, visitor: Visitor | None, key: object, *, is_lent: bool) -> object:
        """Return what trades for one caller with a key, if any; `is_lent` says that this is our own, and no other."""
        ...


@runtime_checkable
class ReaderByVisitor(Protocol):
    """Reads accounts that belong to visitors, not to keys."""

    def of_visitor(self, visitor: Visitor | None) -> AccountReader:
        """Return the reads of a visitor's own account; of nobody there is none."""
        ...
