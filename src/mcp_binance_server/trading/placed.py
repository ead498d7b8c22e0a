"""What whoever placed or cancelled an order is told: the intent as it stands, and why."""

from dataclasses import dataclass
from typing import Any

from mcp_binance_server.domain.order_requests import Outcome
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.watching import CancelState


@dataclass(frozen=True, slots=True)
class Placed:
    """An intent as it stands, why it was not sent, or refused, and what became of a cancel that was sent."""

    intent: Intent
    reason: str = ""
    cancel: CancelState | None = None


def facts_of(outcome: Outcome) -> dict[str, Any]:
    """Return what the journal keeps of an outcome."""
    said: dict[str, Any] = {"reason": outcome.reason, "code": outcome.code}
    return {name: value for name, value in said.items() if value not in ("", None)}
