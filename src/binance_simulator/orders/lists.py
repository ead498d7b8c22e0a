"""Order lists: two or three orders that are placed together and depend on each other."""

from dataclasses import dataclass

from binance_simulator.market.listing import Symbol
from binance_simulator.orders.execution import ListStatus
from binance_simulator.orders.order import LiveOrder, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedList:
    """A requested list: a pair (OCO), or a working order with one pending order or a pending pair (OTO)."""

    client_list_id: str
    working: Wanted | None
    others: tuple[Wanted, ...]
    """The pair of an OCO, or the pending orders; in a pair the stop loss comes first."""
    pays: bool = False
    """Whether the pending orders sell the bought amount of the working order (OPO).

    Then they have no quantity of their own.
    """

    @property
    def orders(self) -> tuple[Wanted, ...]:
        return self.others if self.working is None else (self.working, *self.others)

    @property
    def contingency(self) -> str:
        return "OCO" if self.working is None else "OTO"


@dataclass(slots=True, kw_only=True, eq=False)
class OrderList:
    """An accepted list. It is done when none of its orders is open."""

    number: int
    client_list_id: str
    contingency: str
    symbol: Symbol
    holder: str
    working: LiveOrder | None
    others: tuple[LiveOrder, ...]
    placed_ms: int
    updated_ms: int
    pays: bool = False
    reserved: int = 0
    """Bought amount locked for the pending orders, in multiples of 0.00000001."""

    @property
    def orders(self) -> tuple[LiveOrder, ...]:
        return self.others if self.working is None else (self.working, *self.others)

    @property
    def pending(self) -> list[LiveOrder]:
        return [order for order in self.others if order.pending]

    @property
    def done(self) -> bool:
        return not any(order.open for order in self.orders)

    def partner(self, order: LiveOrder) -> LiveOrder | None:
        """Return the other order of an order's pair, or None without a pair."""
        paired = len(self.others) == 2 and any(one is order for one in self.others)
        return next(one for one in self.others if one is not order) if paired else None

    def status(self, status_type: str | None = None, reject_reason: str = "NONE") -> ListStatus:
        """Return the status of the list. `status_type` is the reason for the report."""
        usual = "ALL_DONE" if self.done else "EXEC_STARTED"
        order_status = "REJECT" if status_type == "RESPONSE" else "ALL_DONE" if self.done else "EXECUTING"
        return ListStatus(
            list_id=self.number,
            contingency=self.contingency,
            status_type=status_type or usual,
            order_status=order_status,
            client_list_id=self.client_list_id,
            symbol=self.symbol.name,
            orders=tuple((order.number, order.wanted.client_order_id) for order in self.orders),
            reject_reason=reject_reason,
        )

    def body(self) -> dict[str, object]:
        """Return the list in the format of the query endpoints."""
        status = self.status()
        return {
            "orderListId": status.list_id,
            "contingencyType": status.contingency,
            "listStatusType": status.status_type,
            "listOrderStatus": status.order_status,
            "listClientOrderId": status.client_list_id,
            "transactionTime": self.updated_ms,
            "symbol": status.symbol,
            "orders": [
                {"symbol": status.symbol, "orderId": number, "clientOrderId": name} for number, name in status.orders
            ],
        }
