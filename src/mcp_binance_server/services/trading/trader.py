"""For whom orders are placed, and on which account."""

from dataclasses import dataclass, replace
from hashlib import sha256

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.trading.paper.account import account_of


@dataclass(frozen=True, slots=True)
class Trader:
    """One visitor; built for nobody, nothing can be placed.

    `key_account` is the account behind the key of this server; without it each visitor has one on paper.
    """

    of: Visitor | None = None
    key_account: str | None = None

    def of_visitor(self, visitor: Visitor | None) -> "Trader":
        """Return the same for another visitor; the surface asks for it with each call."""
        return replace(self, of=visitor)

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
        return self.of


OWNER = Trader(LOCAL)
