"""For whom orders are placed, and on which account."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Protocol

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.services.trading.situation import Surveyor
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.paper.account import account_of


@dataclass(frozen=True, slots=True)
class Trader:
    """One visitor; built for nobody, nothing can be placed.

    `key_account` is the account behind the key of this server; without it each visitor has one on paper. On that
    account only who is lent that key trades: a key that comes with a call reads, and places nothing unless an account
    was opened for it.
    """

    of: Visitor | None = None
    key_account: str | None = None
    is_lent: bool = True
    brought: Principal | None = field(default=None, repr=False)
    """The key that came with the call, if that is not this server's own."""
    refusal: str = ""
    """Why the key that was brought does not trade, where more is known than that it is another one."""

    def of_caller(self, visitor: Visitor | None, key: object, *, is_lent: bool) -> "Trader":
        """Return the same for another caller; the surface asks for it with each call."""
        brought = key if isinstance(key, Principal) and not is_lent else None
        return replace(self, of=visitor, is_lent=is_lent, brought=brought)

    def trading_on(self, account: str) -> "Trader":
        """Return the same caller as the holder of an account that was opened for the key they bring."""
        return replace(self, key_account=account, is_lent=True)

    @property
    def is_refused(self) -> bool:
        """Whether this caller may read with a key of their own, or with none, and place nothing."""
        return self.key_account is not None and not self.is_lent

    @property
    def visitor(self) -> str:
        """Name the visitor so that neither the journal nor a log learns who it is.

        Who brings a key is another visitor with each of their keys: what they were asked about one says nothing of the
        others, and where nobody is asked for a name the key is all that tells callers apart.
        """
        known = self._known
        key = self.brought.key_id if self.brought is not None and self.key_account is not None else ""
        if not known.is_known and not key:
            return "local"
        return sha256(f"{known.name}{key and f' {key}'}".encode()).hexdigest()[:16]

    @property
    def account(self) -> str:
        known = self._known
        return self.key_account or account_of(known)

    @property
    def _known(self) -> Visitor:
        if self.of is None:
            raise InsufficientScope(needed_scopes=("trade",))
        if self.is_refused:
            raise KeyDoesNotTrade(
                key_id=None if self.brought is None else self.brought.key_id, reason=self.refusal or None
            )
        return self.of


OWNER = Trader(LOCAL)


@dataclass(frozen=True, slots=True)
class OpenAccount:
    """One account that orders can be placed on: its desk and rules, and what its people said."""

    name: str
    surveyor: Surveyor
    agreements: Agreements


class OpenAccounts(Protocol):
    """Opens accounts when their holders call."""

    async def of(self, trader: Trader) -> OpenAccount | None:
        """Return the account of a caller, opened by now; None where they have none but the one that all share.

        Raises:
            KeyDoesNotTrade: the key that they bring may not, for a reason of its own.
            TradingNotReady: it could not be opened yet.
            AppError: the exchange does not take the key, or is away: nobody knows whose account it is.
        """
        ...
