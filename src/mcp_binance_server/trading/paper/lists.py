"""Lists of paper orders: validity, orders that end each other, quantity of the exits. Pure.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints#order-lists
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_binance_server.domain.money import Price, Quantity, floor_to_step
from mcp_binance_server.domain.order_requests import ListShape, WrittenList, WrittenOrder
from mcp_binance_server.trading.judgement.intent import LIMIT_MAKER
from mcp_binance_server.trading.judgement.preview import written
from mcp_binance_server.trading.paper.order import ListPart, PaperOrder

EXITS: dict[ListShape, int] = {"OCO": 2, "OTO": 1, "OTOCO": 2, "OPO": 1, "OPOCO": 2}
PAYS = frozenset[ListShape]({"OPO", "OPOCO"})
"""Shapes whose exits sell what the entry received.

https://github.com/binance/binance-spot-api-docs/blob/master/faqs/opo.md
"""
ENTRY_KINDS = ("LIMIT", LIMIT_MAKER)
OTHER_FIRST = "the other order of its list was first"
NO_ENTRY = "the entry of its list was not filled"
WOULD_TAKE = "the order would immediately match and take"
TOO_LITTLE = "the entry bought less than the minimum quantity"


def parts_of(listed: WrittenList) -> list[ListPart]:
    """Return the role of each order of a list."""
    exit_ = ListPart(listed.client_list_id, listed.shape)
    return [replace(exit_, is_entry=listed.shape != "OCO" and not number) for number in range(len(listed.orders))]


def problem_of(listed: WrittenList) -> str:
    """Return the reason why the exchange would refuse such a list in any market, or "" if there is none."""
    orders = listed.orders
    entries = [order for order, part in zip(orders, parts_of(listed), strict=True) if part.is_entry]
    exits = orders[len(entries) :]
    if len(exits) != (wanted := EXITS[listed.shape]):
        return f"{listed.shape} needs {wanted} exit orders, not {len(exits)}"
    levels = [_level(each) for each in exits]
    rules = {
        "the orders of a list must have the same symbol": len({each.symbol for each in orders}) == 1,
        "each order of a list needs its own ID": len({each.client_order_id for each in orders}) == len(orders),
        "the entry of a list must be LIMIT or LIMIT_MAKER": all(each.kind in ENTRY_KINDS for each in entries),
        "the exits of a list must be LIMIT_MAKER or GTC stops": all(
            each.kind == LIMIT_MAKER or (each.is_stop and each.time_in_force == "GTC") for each in exits
        ),
        "the exits of a list need the same side and quantity": len({(each.side, each.quantity) for each in exits}) == 1,
        "the entry of a list must be on the other side": all(each.side != exits[0].side for each in entries),
        "an entry that pays for its exits must be BUY": listed.shape not in PAYS or entries[0].side == "BUY",
        "the upper order must be above the lower one": levels == sorted(set(levels), reverse=True),
    }
    return next((rule for rule, is_kept in rules.items() if not is_kept), "")


def misplaced(orders: Iterable[PaperOrder], last: Price | None) -> str:
    """Return a message about the first order whose price the market has already passed; "" if there is none.

    A trailing stop starts at the market, so it is never passed.
    """
    for order in orders:
        if order.trailing_bps is not None:
            continue
        is_passed = last is not None and (order.level <= last if order.waits_above else order.level >= last)
        if is_passed and last is not None:
            where = "above" if order.waits_above else "below"
            return f"{written(order.level)} must be {where} the last price, {written(last)}"
    return ""


def rest_of(order: PaperOrder, orders: Iterable[PaperOrder]) -> list[PaperOrder]:
    """Return those of the given orders that are in the same list as the order."""
    if order.part is None:
        return []
    list_id = order.part.list_id
    return [each for each in orders if each is not order and each.part is not None and each.part.list_id == list_id]


def holding(orders: Iterable[PaperOrder]) -> list[PaperOrder]:
    """Return the orders that have locked funds. An exit locks none until its entry is filled."""
    return [each for each in orders if each.is_open and not each.awaits_entry]


def paying_entries(orders: Iterable[PaperOrder]) -> list[PaperOrder]:
    """Return the open entries that keep their received amount for their exits."""
    return [each for each in orders if each.is_open and each.part and each.part.is_entry and each.part.shape in PAYS]


def exit_quantity(exits: Sequence[PaperOrder], received: Quantity, step: Quantity) -> Quantity:
    """Return the exit quantity for a filled entry. In some shapes of list it is the received quantity."""
    first = exits[0]
    if first.part is None or first.part.shape not in PAYS:
        return first.quantity
    return floor_to_step(received, step)


def _level(order: WrittenOrder) -> Price:
    return order.stop_price or order.price
