"""Result of placing or cancelling an order: the intent and the reason."""

from dataclasses import dataclass
from typing import Any

from mcp_binance_server.domain.order_requests import Outcome
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.watching import CancelState


@dataclass(frozen=True, slots=True)
class Placed:
    """Current intent after an order was placed or cancelled. `reason` says why the order was refused or not sent."""

    intent: Intent
    reason: str = ""
    cancel: CancelState | None = None


def facts_of(outcome: Outcome) -> dict[str, Any]:
    """Return the reason and code of an outcome for the journal."""
    said: dict[str, Any] = {"reason": outcome.reason, "code": outcome.code}
    return {name: value for name, value in said.items() if value not in ("", None)}
