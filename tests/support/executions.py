"""Records of what was executed, as the simulated exchange writes them, made by hand."""

from typing import Any

from mcp_binance_server.simulator.orders.execution import Execution, OrderState

PLACED_MS = 1_784_592_123_456


def order_state(**changes: Any) -> OrderState:  # noqa: ANN401 - members of the record
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
        "self_trade": "EXPIRE_MAKER",
        "placed_ms": PLACED_MS,
        "updated_ms": PLACED_MS,
        "working_ms": PLACED_MS,
    }
    return OrderState(**given | changes)


def execution(order: OrderState, number: int, holder: str, **changes: Any) -> Execution:  # noqa: ANN401 - likewise
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
