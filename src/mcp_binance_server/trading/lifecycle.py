"""What is known of one order, from sources that know nothing of each other: answers, questions, reports. Pure.

They come late, twice, in another order, or not at all. Knowledge only grows: a final status stays, what was executed
never becomes less, and a report older than one that was heard adds nothing. What was paid is read from the trades
themselves when an order is told of, so none is kept here.
"""

from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.orders import FINAL_STATUS, NOTHING, Order, Report

# A status that nobody knows counts as that of an order on the book: the exchange adds words without notice.
STAGES = {"PENDING_NEW": 0, "PARTIALLY_FILLED": 2} | dict.fromkeys(FINAL_STATUS, 3)
ON_THE_BOOK = 1


@dataclass(frozen=True, slots=True)
class Known:
    """One order as far as it is known; None while nobody has said anything."""

    order: Order | None = None
    execution_id: int = -1

    @property
    def is_final(self) -> bool:
        return self.order is not None and self.order.status in FINAL_STATUS

    @property
    def executed(self) -> Quantity:
        return NOTHING if self.order is None else self.order.executed

    def apply(self, told: Order | Report) -> "Known":
        """Return what is known after hearing this; the same if it says nothing new."""
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
