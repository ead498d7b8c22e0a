"""Known state of one order, merged from answers, queries and reports. Pure.

Messages can be late, repeated, reordered or lost. The state only advances: a final status stays, and the executed
quantity never falls. A report older than the last one changes nothing. The amount paid is not stored here, but read
from the trades when an order is shown.
"""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.orders import FINAL_STATUS, NOTHING, Order, Report

# An unknown status means an order on the book, because the exchange adds statuses without notice.
STAGES = {"PENDING_NEW": 0, "PARTIALLY_FILLED": 2} | dict.fromkeys(FINAL_STATUS, 3)
ON_THE_BOOK = 1


@dataclass(frozen=True, slots=True)
class Known:
    """Known state of one order. `order` is None before the first message."""

    order: Order | None = None
    execution_id: int = -1

    @property
    def is_final(self) -> bool:
        return self.order is not None and self.order.status in FINAL_STATUS

    @property
    def executed(self) -> Quantity:
        return NOTHING if self.order is None else self.order.executed

    def apply(self, told: Order | Report) -> "Known":
        """Return the state after this message, or `self` if it contains nothing new."""
        if isinstance(told, Order):
            return Known(told, self.execution_id) if self._is_news(told) else self
        is_later = told.execution_id > self.execution_id
        order = told.order if is_later and self._is_news(told.order) else self.order
        known = Known(order, max(told.execution_id, self.execution_id))
        return self if known == self else known

    def _is_news(self, told: Order) -> bool:
        held = self.order
        if held is None:
            return True
        if self.is_final or told.executed < held.executed:
            return False
        return _progress(told) > _progress(held)


def _progress(order: Order) -> tuple[Decimal, int, int]:
    return order.executed, STAGES.get(order.status, ON_THE_BOOK), order.updated_ms
