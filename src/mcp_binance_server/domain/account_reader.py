"""Read access to an account: at the exchange by an API key, or in the local file of a paper account."""

from typing import Protocol, runtime_checkable

from mcp_binance_server.domain.access import Visitor
from mcp_binance_server.domain.account import Account, KeyRights, Venue
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.orders import Fill, Order
from mcp_binance_server.domain.symbols import Symbol


class AccountReader(Protocol):
    """Read access to one account. Results are never shared with another account."""

    @property
    def has_key(self) -> bool:
        """Whether there is an account to read."""
        ...

    def require_key(self) -> object:
        """Check, without a request, that there is an account to read.

        Raises:
            InvalidCredentials: there is no account, or the caller may not use the server's own key.
        """
        ...

    def venue(self, host: str, /) -> Venue:
        """Return the venue of the account. `host` is the host that answered."""
        ...

    async def account(self) -> Sourced[Account]: ...

    async def key_rights(self) -> KeyRights | None:
        """Return the permissions of the key, or None if they were not reported in time."""
        ...

    async def open_orders(self, symbol: Symbol | None = None) -> Sourced[tuple[Order, ...]]: ...

    async def order_history(
        self, symbol: Symbol, limit: int, start_ms: int | None = None, end_ms: int | None = None
    ) -> Sourced[tuple[Order, ...]]:
        """Return orders of any status, oldest first: the first ones from `start_ms` on, or else the newest ones."""
        ...

    async def order(
        self, symbol: Symbol, client_order_id: str | None = None, *, order_id: int | None = None
    ) -> Sourced[Order]:
        """Return one order by its client order ID or by the exchange's order ID."""
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
        """Return trades of the account, oldest first. Without a filter these are the newest trades.

        Use at most one filter: an order, a start or an end.
        """
        ...


@runtime_checkable
class TradesByCaller(Protocol):
    """Trading access by caller. Each caller has its own account, or all use the account of the server's own key."""

    def of_caller(self, visitor: Visitor | None, key: object, *, is_lent: bool) -> object:
        """Return the trader for a caller. `is_lent` means that `key` is the server's own key."""
        ...


@runtime_checkable
class ReaderByVisitor(Protocol):
    """Read access to accounts by visitor, for accounts without an API key."""

    def of_visitor(self, visitor: Visitor | None) -> AccountReader:
        """Return read access to a visitor's own account. Without a visitor there is no account."""
        ...
