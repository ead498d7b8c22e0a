"""Protocol for claims, limits and states of intents.

A single host uses a journal. A fleet uses shared state.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.journal.ledger import Judge
from mcp_binance_server.trading.journal.limits import PositionRoom
from mcp_binance_server.trading.journal.reading import OrderPast
from mcp_binance_server.trading.journal.records import Intent, IntentState, NewIntent, Stopped
from mcp_binance_server.trading.journal.store import Store
from mcp_binance_server.trading.judgement.charges import Charge
from mcp_binance_server.trading.judgement.exposure import Holding
from mcp_binance_server.trading.judgement.terms import PreviewId, Terms


class OrderLedger(Protocol):
    """Records and queries of an order desk. `HostLedger` documents each method."""

    @property
    def store(self) -> Store:
        """Journal of this host."""
        ...

    @property
    def owner(self) -> str: ...

    async def claim(  # noqa: PLR0917 - all inputs of a claim
        self,
        new: NewIntent,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None = None,
        judge: Judge | None = None,
        holding: Holding | None = None,
    ) -> tuple[Intent, bool]: ...

    async def adopt(self, new: NewIntent, charges: tuple[Charge, ...], order: Order, now_ms: int) -> Intent | None: ...

    async def mark_sent(self, preview_id: PreviewId, now_ms: int) -> None: ...

    async def move(
        self,
        preview_id: PreviewId,
        state: IntentState,
        facts: Mapping[str, Any],
        now_ms: int,
        *orders: Order,
        target: Order | None = None,
    ) -> Intent: ...

    async def note_once(self, state: str, facts: Mapping[str, Any], now_ms: int, about: str) -> None: ...

    async def find(self, preview_id: PreviewId) -> Intent | None: ...

    async def named(self, account: str, client_order_id: str) -> Intent | None: ...

    async def past(
        self,
        terms: Terms,
        charges: tuple[Charge, ...],
        now_ms: int,
        room: PositionRoom | None,
        holding: Holding | None = None,
    ) -> OrderPast: ...

    async def reason_of(self, intent: Intent) -> str: ...

    async def used(self, account: str, charges: tuple[Charge, ...], now_ms: int) -> dict[str, int]: ...

    async def unresolved(self, account: str | None = None) -> list[Intent]: ...

    async def agree(self) -> None:
        """Reconcile the journal of this host with the shared state, if there is one."""
        ...

    async def stop(self, why: str, by: str, now_ms: int, account: str, *, allows_exits: bool = True) -> Stopped: ...

    async def stopped(self, account: str) -> Stopped | None:
        """Return the stop that applies to an account. The global stop comes before the account's own."""
        ...
