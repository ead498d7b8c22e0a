"""What may be said of an order or a cancel after an answer, judged by the bytes of the answer alone.

Meanings are taken from the exchange's documents, independently of the product.
"""

import json
from decimal import Decimal
from typing import cast

from mcp_binance_server.domain.order_requests import Fate, Outcome, Target, WrittenOrder
from support.orders.answers import NO_LIST, NUMBERS, OK, Body, GivenReply, Sent

FIRST_OF_CLIENT, PARTLY, FIRST_OF_SERVER = 400, 409, 500
LONGEST_REASON, LONGEST_WORD = 600, 200
# Unknown outcomes, by the exchange's own words. All other 4xx answers are definite.
DOUBTFUL = frozenset({-1000, -1001, -1006, -1007})
PARTIAL = -2021


def defects(sent: Sent, reply: GivenReply, outcome: Outcome) -> list[str]:
    """Return what an outcome claims that the bytes of the answer do not bear out."""
    found: list[str] = []
    if outcome.fate not in _fates(sent, reply):
        found.append(f"{outcome.fate.value} of {reply.status} {reply.body[:400]!r}")
    if len(outcome.reason) > LONGEST_REASON or not outcome.reason.isprintable():
        found.append(f"a reason of {len(outcome.reason)}: {outcome.reason[:200]!r}")
    if outcome.fate is not Fate.ACCEPTED and outcome.order is not None:
        found.append(f"{outcome.fate.value} with an order")
    if outcome.fate is Fate.ACCEPTED:
        found += misread_order(sent, outcome, object_of(reply.body))
    return found


def _fates(sent: Sent, reply: GivenReply) -> set[Fate]:
    """Return what may be said of a request after an answer."""
    told = object_of(reply.body)
    if reply.status == OK:
        is_ours = is_sound_cancel(sent, told) if isinstance(sent, Target) else is_sound(sent, told)
        return {Fate.ACCEPTED, Fate.UNKNOWN} if is_ours else {Fate.UNKNOWN}
    # Where a byte is no text, one reader finds the code and another does not: each may go by what it found.
    return refused(reply.status, told) | refused(reply.status, object_of(reply.body, errors="strict"))


def refused(status: int, told: Body) -> set[Fate]:
    """Return what may be said after an answer that is no success."""
    code = told.get("code")
    has_code = isinstance(code, int) and not isinstance(code, bool) and isinstance(told.get("msg", ""), str)
    is_client = FIRST_OF_CLIENT <= status < FIRST_OF_SERVER and status != PARTLY
    # An answer without a code of the exchange comes from a system between it and this program.
    if is_client and has_code and code not in DOUBTFUL and code != PARTIAL:
        return {Fate.REFUSED, Fate.UNKNOWN}
    is_kept_out = status in (401, 403, 418, 429, 451) and not has_code
    return {Fate.REFUSED, Fate.UNKNOWN} if is_kept_out else {Fate.UNKNOWN}


def is_sound(sent: WrittenOrder, told: Body) -> bool:
    """Whether an answer is about the order that was sent, and about no other order."""
    ids = {"symbol": str(sent.symbol), "clientOrderId": sent.client_order_id}
    is_ours = {name: told.get(name) for name in ids} == ids and _has_no_list(told) and _has_wholes(told)
    if _is_short(told):
        return is_ours
    words = {"side": sent.side, "type": sent.kind}
    if sent.kind != "LIMIT_MAKER":
        words["timeInForce"] = sent.time_in_force
    stop = number_of(told["stopPrice"]) if "stopPrice" in told else Decimal(0)
    amounts = number_of(told.get("price")), number_of(told.get("origQty")), stop
    same = {name: told.get(name) for name in words} == words
    return is_ours and same and amounts == (sent.price, sent.quantity, sent.stop_price or 0) and _adds_up(told)


def is_sound_cancel(sent: Target, told: Body) -> bool:
    wanted = {"symbol": str(sent.symbol), "origClientOrderId": sent.client_order_id, "status": "CANCELED"}
    same = {name: told.get(name) for name in wanted} == wanted and _has_no_list(told) and _has_wholes(told)
    is_it = told.get("orderId") == sent.order_id if sent.order_id is not None else True
    return same and is_it and _adds_up(told)


def _is_short(told: Body) -> bool:
    """Whether it says no more than that the order was taken."""
    return told.keys().isdisjoint({"status", "price", "origQty", "executedQty"})


def _has_no_list(told: Body) -> bool:
    # An order of a list lives and dies with orders that are unknown here.
    found = told.get("orderListId", NO_LIST)
    return found == NO_LIST and not isinstance(found, bool | float)


def _has_wholes(told: Body) -> bool:
    return all(is_whole(told.get(name)) for name in ("orderId", "transactTime"))


def _adds_up(told: Body) -> bool:
    executed, most, spent = (number_of(told.get(each)) for each in ("executedQty", "origQty", "cummulativeQuoteQty"))
    status = told.get("status")
    if executed is None or most is None or spent is None or not isinstance(status, str):
        return False
    return executed <= most and (status != "FILLED" or executed == most)


def misread_order(sent: Sent, outcome: Outcome, told: Body) -> list[str]:
    order = outcome.order
    if order is None:
        return ["accepted without an order"]
    if isinstance(sent, WrittenOrder) and _is_short(told):
        taken = order.price, order.quantity, order.executed, order.quote_spent
        return [] if taken == (sent.price, sent.quantity, 0, 0) else [f"of a short answer {taken}"]
    read = {
        "orderId": order.order_id, "price": order.price, "origQty": order.quantity, "executedQty": order.executed,
        "cummulativeQuoteQty": order.quote_spent,
    }  # fmt: skip
    said = {name: number_of(told.get(name)) if name in NUMBERS else told.get(name) for name in read}
    found = [f"{name} is {value!r}, not {said[name]!r}" for name, value in read.items() if value != said[name]]
    words = order.status, order.side, order.kind, order.time_in_force, order.client_order_id
    return [*found, *(f"the word {each!r}" for each in words if not each.isprintable() or len(each) > LONGEST_WORD)]


def number_of(value: object) -> Decimal | None:
    """Read a number as the exchange writes them, and nothing that merely looks like one."""
    if not isinstance(value, str) or not value.isascii() or not value.replace(".", "", 1).isdigit():
        return None
    whole, point, part = value.partition(".")
    if not whole or (point and not part) or len(value) > 40 or (whole[0] == "0" and len(whole) > 1):
        return None
    return Decimal(value)


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def object_of(body: bytes, errors: str = "replace") -> Body:
    try:
        found = json.loads(body.decode("utf-8", errors), strict=errors == "strict")
    except (ValueError, RecursionError):
        return {}
    return cast("Body", found) if isinstance(found, dict) else {}
