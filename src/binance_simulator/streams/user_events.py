"""User events about an account's orders and balances, built from the recorded executions."""

from collections.abc import Iterator

from binance_simulator.market.source import Event
from binance_simulator.orders.execution import Execution, ListStatus, Prevention
from binance_simulator.streams.session import encoded

Body = dict[str, object]

LABELS = {
    "strategyId": "j",
    "strategyType": "J",
    "pegPriceType": "gP",
    "pegOffsetType": "gOT",
    "pegOffsetValue": "gOV",
    "peggedPrice": "gp",
    "trailingDelta": "d",
}
REPORT, POSITION, LIST = "user@executionReport", "user@outboundAccountPosition", "user@listStatus"


def user_events(execution: Execution) -> Iterator[tuple[str, Event]]:
    """Yield the events of one execution, each with its name for faults."""
    yield REPORT, Event(encoded(execution_report(execution)))
    if execution.holdings:
        yield POSITION, Event(encoded(account_position(execution)))
    if execution.list_status is not None:
        yield LIST, Event(encoded(list_status(execution.list_status, execution.at_ms)))


def execution_report(execution: Execution) -> Body:
    """Return the executionReport of an execution. Fields that do not apply to it are left out."""
    order = execution.order
    body: Body = {
        "e": "executionReport",
        "E": execution.at_ms,
        "s": order.symbol,
        "c": execution.client_order_id,
        "S": order.side,
        "o": order.kind,
        "f": order.time_in_force,
        "q": order.quantity,
        "p": order.price,
        "P": order.stop_price,
        "F": order.iceberg,
        "g": order.list_id,
        "C": execution.original_client_order_id,
        "x": execution.kind,
        "X": order.status,
        "r": execution.reject_reason,
        "i": order.order_id,
        "l": execution.last_quantity,
        "z": order.executed,
        "L": execution.last_price,
        "n": execution.commission,
        "N": execution.commission_asset,
        "T": execution.at_ms,
        "t": execution.trade_id,
        "I": execution.number,
        "w": order.working,
        "m": execution.maker,
        "M": False,
        "O": order.placed_ms,
        "Z": order.executed_value,
        "Y": execution.last_value,
        "Q": order.quote_quantity,
    }
    if order.working:
        body["W"] = order.working_ms
    body["V"] = order.self_trade
    if execution.prevention is not None:
        body |= _prevented(execution.prevention)
    body |= {LABELS[name]: value for name, value in order.label.items() if name in LABELS}
    if order.label.get("trailingTime", -1) != -1:
        body["D"] = order.label["trailingTime"]
    if execution.expiry_reason is not None:
        body["eR"] = execution.expiry_reason
    return body


def account_position(execution: Execution) -> Body:
    """Return the changed balances as outboundAccountPosition."""
    held = [{"a": each.asset, "f": each.free, "l": each.locked} for each in execution.holdings]
    return {"e": "outboundAccountPosition", "E": execution.at_ms, "u": execution.at_ms, "B": held}


def list_status(status: ListStatus, at_ms: int) -> Body:
    """Return the status of an order list as listStatus."""
    return {
        "e": "listStatus",
        "E": at_ms,
        "s": status.symbol,
        "g": status.list_id,
        "c": status.contingency,
        "l": status.status_type,
        "L": status.order_status,
        "r": status.reject_reason,
        "C": status.client_list_id,
        "T": at_ms,
        "O": [{"s": status.symbol, "i": number, "c": client_id} for number, client_id in status.orders],
    }


def _prevented(prevention: Prevention) -> Body:
    return {
        "v": prevention.match_id,
        "A": prevention.prevented,
        "B": prevention.last_prevented,
        "u": prevention.trade_group_id,
        "U": prevention.other_order_id,
        "Cs": prevention.other_symbol,
        "pl": prevention.other_prevented,
        "pL": prevention.other_price,
        "pY": prevention.other_value,
    }
