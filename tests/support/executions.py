"""Records of what was executed, as the simulated exchange writes them, made by hand."""

from typing import Any

from binance_simulator.market.portfolio import ZERO, Order
from binance_simulator.orders.execution import Execution

PLACED_MS = 1_784_592_123_456


def order_state(**changes: Any) -> Order:  # noqa: ANN401 - members of the record
    """Return an order that has just been placed."""
    given: dict[str, Any] = {
        "symbol": "BTCUSDT",
        "order_id": 41200881231,
        "client_order_id": "mbs-01JZQ4T7K3M8X2R5V9",
        "side": "BUY",
        "kind": "LIMIT",
        "time_in_force": "GTC",
        "quantity": "0.01000000",
        "price": "115000.00000000",
        "status": "NEW",
        "executed": ZERO,
        "executed_value": ZERO,
        "self_trade": "EXPIRE_MAKER",
        "placed_ms": PLACED_MS,
        "updated_ms": PLACED_MS,
    }
    return Order(**given | changes)


def execution(order: Order, number: int, holder: str, **changes: Any) -> Execution:  # noqa: ANN401 - likewise
    """Return one step of it."""
    given: dict[str, Any] = {
        "number": number,
        "holder": holder,
        "at_ms": order.updated_ms,
        "kind": "NEW",
        "order": order,
        "client_order_id": order.client_order_id,
    }
    return Execution(**given | changes)
