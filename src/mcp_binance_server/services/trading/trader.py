"""For whom orders are placed, and on which account."""

from dataclasses import dataclass, replace
from hashlib import sha256

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.paper.account import account_of


@dataclass(frozen=True, slots=True)
class Trader:
    """One visitor; built for nobody, nothing can be placed.

    `key_account` is the account behind the key of this server; without it each visitor has one on paper. On that
    account only who is lent that key trades: a key that comes with a call reads, and places nothing.
    """

    of: Visitor | None = None
    key_account: str | None = None
    is_lent: bool = True

    def of_caller(self, visitor: Visitor | None, *, is_lent: bool) -> "Trader":
        """Return the same for another caller; the surface asks for it with each call."""
        return replace(self, of=visitor, is_lent=is_lent)

    @property
    def is_refused(self) -> bool:
        """Whether this caller may read with a key of their own, or with none, and place nothing."""
        return self.key_account is not None and not self.is_lent

    @property
    def visitor(self) -> str:
        """Name the visitor so that neither the journal nor a log learns who it is."""
        known = self._known
        return sha256(known.name.encode()).hexdigest()[:16] if known.is_known else "local"

    @property
    def account(self) -> str:
        known = self._known
        return self.key_account or account_of(known)

    @property
    def _known(self) -> Visitor:
        if self.of is None:
            raise InsufficientScope(needed_scopes=("trade",))
        if self.is_refused:
            raise KeyDoesNotTrade
        return self.of


OWNER = Trader(LOCAL)
