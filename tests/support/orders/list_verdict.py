"""What may be said of a list, a replacement or an amendment after an answer, judged by the bytes of the answer alone.

Meanings are taken from the exchange's documents, independently of the product.
"""

from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import (
    Amendment,
    Fate,
    Outcome,
    Replacement,
    Target,
    WrittenList,
    WrittenOrder,
)
from support.orders.answers import OK, Body, GivenReply
from support.orders.verdict import (
    DOUBTFUL,
    LONGEST_REASON,
    PARTIAL,
    is_sound,
    is_sound_cancel,
    is_whole,
    misread_order,
    number_of,
    object_of,
    refused,
)

Request = WrittenList | Replacement | Amendment | Target

NOT_REPLACED = -2022
BOTH, GONE, STANDS = ("SUCCESS", "SUCCESS"), ("SUCCESS", "FAILURE"), ("FAILURE", "NOT_ATTEMPTED")
NEITHER = ("FAILURE", "FAILURE")


def change_defects(request: Request, reply: GivenReply, outcome: Outcome) -> list[str]:
    """Return what an outcome claims that the bytes of the answer do not bear out."""
    told = object_of(reply.body)
    found = [] if outcome.fate in _fates(request, reply, told) else [f"{outcome.fate} of {reply.status} {told}"]
    if len(outcome.reason) > LONGEST_REASON or not outcome.reason.isprintable():
        found.append(f"a reason of {len(outcome.reason)}: {outcome.reason[:200]!r}")
    held = {name for name in ("order", "target", "legs") if getattr(outcome, name)}
    if held not in _holds(request, outcome):
        found.append(f"{outcome.fate} holds {held}")
    if outcome.fate is Fate.ACCEPTED and isinstance(request, WrittenList):
        reports = {_text(each, "clientOrderId"): each for each in _rows(told, "orderReports")}
        for order, leg in zip(request.orders, outcome.legs, strict=True):
            said = reports.get(order.client_order_id, {})
            said = {**said, "origQty": str(order.quantity)} if _is_unsaid(request, order, said) else said
            found += misread_order(order, Outcome(Fate.ACCEPTED, leg), said)
    return found


def _holds(request: Request, outcome: Outcome) -> list[set[str]]:
    """Return what may come with an outcome."""
    is_done, is_replaced = outcome.fate is Fate.ACCEPTED, isinstance(request, Replacement)
    if not is_done:
        is_gone = is_replaced and outcome.fate is Fate.REFUSED and "old order is cancelled" in outcome.reason
        return [{"target"}] if is_gone else [set()]
    if is_replaced:
        return [{"order", "target"}]
    return [{"order"}] if isinstance(request, Amendment) else [{"legs"}]


def _fates(request: Request, reply: GivenReply, told: Body) -> set[Fate]:
    if reply.status == OK:
        return {Fate.ACCEPTED, Fate.UNKNOWN} if _is_sound(request, told) else {Fate.UNKNOWN}
    if isinstance(request, Replacement) and told.get("code") in (PARTIAL, NOT_REPLACED):
        return {Fate.REFUSED, Fate.UNKNOWN} if _is_sound_half(request, reply.status, told) else {Fate.UNKNOWN}
    return refused(reply.status, told) | refused(reply.status, object_of(reply.body, errors="strict"))


def _is_sound(request: Request, told: Body) -> bool:
    if isinstance(request, WrittenList):
        return _is_sound_list(request, told)
    if isinstance(request, Replacement):
        old, new = _object(told, "cancelResponse"), _object(told, "newOrderResponse")
        return _results(told) == BOTH and is_sound_cancel(request.target, old) and is_sound(request.order, new)
    if isinstance(request, Amendment):
        return _is_sound_amendment(request, _object(told, "amendedOrder"))
    return _is_sound_cancelled_list(request, told)


def _is_sound_list(request: WrittenList, told: Body) -> bool:
    word, rows = "OCO" if request.shape == "OCO" else "OTO", _rows(told, "orderReports")
    said = [_text(told, name) for name in ("symbol", "listClientOrderId", "contingencyType")]
    named = {_text(row, "clientOrderId"): row for row in rows}
    wanted = {each.client_order_id: each for each in request.orders}
    return (
        said == [request.symbol, request.client_list_id, word]
        and is_whole(told.get("orderListId"))
        and _text(told, "listOrderStatus") in ("EXECUTING", "ALL_DONE")
        and {*named} == {*wanted}
        and len(rows) == len(wanted) == len(_rows(told, "orders"))
        and all(_is_sound_leg(request, order, named[name], told["orderListId"]) for name, order in wanted.items())
    )


def _is_sound_leg(request: WrittenList, order: WrittenOrder, row: Body, number: int) -> bool:
    if not is_whole(row.get("orderListId")) or row["orderListId"] != number:
        return False
    own = {**row, "orderListId": -1}
    if _is_unsaid(request, order, row):
        own["origQty"] = str(order.quantity)
    elif _is_paid(request, order):
        said = number_of(row.get("origQty")) or Decimal(0)
        order = replace(order, quantity=Quantity(min(said, order.quantity)))
    return is_sound(order, own)


def _is_paid(request: WrittenList, order: WrittenOrder) -> bool:
    return request.shape.startswith("OPO") and order is not request.orders[0]


def _is_unsaid(request: WrittenList, order: WrittenOrder, row: Body) -> bool:
    """Whether the quantity of this exit is not known yet."""
    said = number_of(row.get("origQty", "0"))
    return _is_paid(request, order) and said is not None and not said


def _is_sound_cancelled_list(request: Target, told: Body) -> bool:
    rows = _rows(told, "orderReports")
    said = [_text(told, name) for name in ("symbol", "listClientOrderId", "listOrderStatus")]
    names, over = [_text(row, "origClientOrderId") for row in rows], {_text(row, "status") for row in rows}
    is_own = all(row.get("orderListId") == told.get("orderListId") for row in rows)
    is_over = "CANCELED" in over and over.isdisjoint({"NEW", "PENDING_NEW", "PARTIALLY_FILLED"})
    is_it = said == [request.symbol, request.client_order_id, "ALL_DONE"]
    return is_it and is_own and is_over and len({*names}) == len(names)


def _is_sound_amendment(request: Amendment, row: Body) -> bool:
    target = request.target
    ids = [_text(row, name) for name in ("symbol", "origClientOrderId", "clientOrderId")]
    is_it = ids == [target.symbol, target.client_order_id, target.client_order_id]
    executed, quantity = number_of(row.get("executedQty")), number_of(row.get("qty"))
    is_it = is_it and is_whole(row.get("orderId")) and row["orderId"] == target.order_id
    return is_it and executed is not None and quantity == request.quantity and executed <= request.quantity


def _is_sound_half(request: Replacement, status: int, told: Body) -> bool:
    halves = _object(told, "data")
    old, new = _object(halves, "cancelResponse"), _object(halves, "newOrderResponse")
    if told.get("code") == PARTIAL:
        is_gone = _results(halves) == GONE and is_sound_cancel(request.target, old)
        return status in (409, 429) and is_gone and _is_definite(new)
    is_left = _results(halves) == STANDS or (_results(halves) == NEITHER and _is_definite(new))
    return status in (400, 429) and is_left and _is_definite(old)


def _is_definite(half: Body) -> bool:
    code = half.get("code")
    return isinstance(code, int) and not isinstance(code, bool) and code not in DOUBTFUL and code != PARTIAL


def _results(halves: Body) -> tuple[str, str]:
    return _text(halves, "cancelResult"), _text(halves, "newOrderResult")


def _object(told: Body, name: str) -> Body:
    found = told.get(name)
    return cast("Body", found) if isinstance(found, dict) else {}


def _rows(told: Body, name: str) -> list[Body]:
    found = told.get(name)
    rows = cast("list[Any]", found) if isinstance(found, list) else []
    return [cast("Body", each) for each in rows if isinstance(each, dict)]


def _text(told: Body, name: str) -> str:
    found = told.get(name)
    return found if isinstance(found, str) else ""
