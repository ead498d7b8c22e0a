"""Reads of an account, on the exchange behind a key or in the local file of a paper account."""

from typing import Protocol, runtime_checkable

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.domain.account import Account, KeyRights, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol


class AccountReader(Protocol):
    """Reads of one account; no result is ever shared with another account."""

    @property
    def has_key(self) -> bool:
        """Whether there is an account to read."""
        ...

    def require_key(self) -> object:
        """Check that there is an account to read.

        Raises:
            InvalidCredentials: there is none, or the caller may not use the server's own key; found without a request.
        """
        ...

    def venue(self, host: str, /) -> Venue:
        """Return the venue of the account, given the host that answered."""
        ...

    async def account(self) -> Sourced[Account]: ...

    async def key_rights(self) -> KeyRights | None:
        """Return the permissions of the key, or None if they are not reported in time."""
        ...

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]: ...

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of every status, oldest first: the newest ones, or with a start the ones that follow it."""
        ...

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by either of its IDs."""
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
        """Return trades of the account, oldest first: the newest, the newest up to an end, or those after a start.

        The filters exclude each other: one order, a start, or an end.
        """
        ...


@runtime_checkable
class TradesByCaller(Protocol):
    """Trading for callers: each on an account of its own, or all on the account of the server's own key."""

    def of_caller(self, visitor: Visitor | None, key: object, *, is_lent: bool) -> object:
        """Return the trader for one caller with a key, if any; `is_lent` means that it is the server's own key."""
        ...


@runtime_checkable
class ReaderByVisitor(Protocol):
    """Reads of accounts that belong to visitors, not to keys."""

    def of_visitor(self, visitor: Visitor | None) -> AccountReader:
        """Return the reads of a visitor's own account; without a visitor there is no account."""
        ...
