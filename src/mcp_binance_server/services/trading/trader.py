"""Caller of the trading service, and the account that its orders are placed on."""

from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Protocol

from mcp_binance_server.domain.access import LOCAL, Visitor
from mcp_binance_server.errors import InsufficientScope
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.services.trading.preview_files import LOCAL_VISITOR
from mcp_binance_server.services.trading.situation import SituationReader
from mcp_binance_server.trading.errors import KeyDoesNotTrade
from mcp_binance_server.trading.journal.agreements import Agreements
from mcp_binance_server.trading.paper.account import account_of


@dataclass(frozen=True, slots=True)
class Trader:
    """One visitor (the caller of a tool). Without a visitor nothing can be placed.

    `key_account` is the account of this server's own key. Without that key, each visitor has a paper account. Only
    callers that may use the server's key trade on its account. A caller's own key can always read. It places orders
    only if an account was opened for it.
    """

    of: Visitor | None = None
    key_account: str | None = None
    is_lent: bool = True
    brought: Principal | None = field(default=None, repr=False)
    """Key that came with the call, unless it is this server's own."""
    refusal: str = ""
    """Reason why that key cannot trade, apart from not being this server's key."""

    def of_caller(self, visitor: Visitor | None, key: object, *, is_lent: bool) -> "Trader":
        """Return a copy for another caller. The `surface` package makes one for each call."""
        brought = key if isinstance(key, Principal) and not is_lent else None
        return replace(self, of=visitor, is_lent=is_lent, brought=brought)

    def trading_on(self, account: str) -> "Trader":
        """Return a copy that trades on an account opened for the caller's own key."""
        return replace(self, key_account=account, is_lent=True)

    @property
    def is_refused(self) -> bool:
        """Whether this caller can only read, because it has another key or no key."""
        return self.key_account is not None and not self.is_lent

    @property
    def visitor(self) -> str:
        """Pseudonym of the visitor, so that neither the journal nor a log contains a name.

        A caller with several keys is a different visitor with each key, so one key's orders are invisible with another.
        Without authentication, only the key distinguishes callers.
        """
        known = self._known
        key = self.brought.key_id if self.brought is not None and self.key_account is not None else ""
        if not known.is_known and not key:
            return LOCAL_VISITOR
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
    """One account that orders can be placed on: its desk, its rules, and the decisions of its users."""

    name: str
    situation_reader: SituationReader
    agreements: Agreements


class OpenAccounts(Protocol):
    """Accounts that open when their owners call."""

    async def of(self, trader: Trader) -> OpenAccount | None:
        """Open or return the account of a caller. Return None if the caller has only the shared account.

        Raises:
            KeyDoesNotTrade: the caller's key may not trade, for a reason of its own.
            TradingNotReady: the account could not be opened yet.
            AppError: the exchange rejects the key, or is unavailable: the owner of the account is unknown.
        """
        ...
