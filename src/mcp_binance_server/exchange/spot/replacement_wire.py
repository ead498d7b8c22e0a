"""Answers to a replaced or amended order; an answer is accepted only if all of it matches the request.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints
"""

import msgspec

from mcp_binance_server.domain.order_requests import Amendment, Fate, Outcome, Replacement
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.exchange.spot.order_fates import CONFLICT, NOT_REPLACED, in_doubt, outcome_of
from mcp_binance_server.exchange.spot.order_wire import NO_LIST, OrderStateWire, read_cancelled, read_placed
from mcp_binance_server.exchange.wire import (
    PARTIAL_CODE,
    TOO_MANY_REQUESTS,
    UNREADABLE,
    Amount,
    BinanceWire,
    Count,
    CountOrNone,
    EpochMs,
    ExchangeRefusal,
)

BAD_REQUEST = 400
DONE, FAILED, LEFT_OUT = "SUCCESS", "FAILURE", "NOT_ATTEMPTED"
OLD_IS_GONE = "the old order is cancelled, and the new one was refused"
STILL_STANDS = "nothing was replaced"
# Statuses that an amended order can have; its remaining quantity may expire at once.
AMENDED = frozenset({"NEW", "PARTIALLY_FILLED", "FILLED", "EXPIRED"})


class ReplacementWire(BinanceWire):
    """A replacement: the result and the answer of its cancel and of its new order."""

    cancel_result: str
    new_order_result: str
    cancel_response: msgspec.Raw
    new_order_response: msgspec.Raw


class HalfReplacedWire(BinanceWire):
    """The answer to a replacement that failed completely or in part."""

    code: int
    data: ReplacementWire


class HalfRefusedWire(BinanceWire):
    """The reason why the cancel or the new order failed."""

    code: int
    msg: str = ""


class AmendedOrderWire(OrderStateWire, kw_only=True):
    """An amended order. Two of its fields have other names than in all other answers."""

    orig_client_order_id: str
    orig_qty: Amount | msgspec.UnsetType = msgspec.field(name="qty")
    cummulative_quote_qty: Amount = msgspec.field(name="cumulativeQuoteQty")
    order_list_id: CountOrNone = NO_LIST


class AmendmentWire(BinanceWire):
    """The answer to an amendment."""

    transact_time: EpochMs
    execution_id: Count
    amended_order: AmendedOrderWire


def read_replaced(body: bytes, replacement: Replacement) -> Outcome | None:
    """Return the new order and the cancelled one; None if the answer does not confirm both."""
    try:
        wire = msgspec.json.decode(body, type=ReplacementWire)
    except UNREADABLE:
        return None
    old = read_cancelled(wire.cancel_response, replacement.target)
    new = read_placed(wire.new_order_response, replacement.order)
    if old is None or new is None or old.order_id == new.order_id:
        return None
    is_done = wire.cancel_result == wire.new_order_result == DONE
    return Outcome(Fate.ACCEPTED, new, reason=new.expiry_words, target=old) if is_done else None


def outcome_of_replacement(refusal: ExchangeRefusal, body: bytes, replacement: Replacement) -> Outcome:
    """Return the outcome of an error answer; it is unknown unless the two halves prove a refusal."""
    if refusal.code not in {PARTIAL_CODE, NOT_REPLACED}:
        return outcome_of(refusal)
    try:
        halves = msgspec.json.decode(body, type=HalfReplacedWire).data
    except UNREADABLE:
        return in_doubt(refusal)
    results = halves.cancel_result, halves.new_order_result
    if refusal.code == NOT_REPLACED and refusal.status in {BAD_REQUEST, TOO_MANY_REQUESTS}:
        why = _refused(halves.cancel_response)
        is_left = results == (FAILED, LEFT_OUT) or (results == (FAILED, FAILED) and _refused(halves.new_order_response))
        if why is not None and is_left:
            return Outcome(Fate.REFUSED, reason=f"{STILL_STANDS}: {why.reason}", code=why.code)
    if refusal.code == PARTIAL_CODE and refusal.status in {CONFLICT, TOO_MANY_REQUESTS} and results == (DONE, FAILED):
        old, why = read_cancelled(halves.cancel_response, replacement.target), _refused(halves.new_order_response)
        if old is not None and why is not None:
            return Outcome(Fate.REFUSED, reason=f"{OLD_IS_GONE}: {why.reason}", code=why.code, target=old)
    return in_doubt(refusal)


def read_amended(body: bytes, amendment: Amendment) -> Order | None:
    """Return the order with its new quantity; None if the answer does not confirm it under the order's own ID."""
    try:
        wire = msgspec.json.decode(body, type=AmendmentWire)
    except UNREADABLE:
        return None
    told, target = wire.amended_order, amendment.target
    ids = told.symbol, told.orig_client_order_id, told.client_order_id, told.order_list_id
    is_it = ids == (target.symbol, target.client_order_id, target.client_order_id, NO_LIST)
    is_it = is_it and target.order_id in {None, told.order_id} and told.status in AMENDED
    order = told.standing(told.client_order_id, wire.transact_time, wire.transact_time)
    is_sound = order.quantity == amendment.quantity and order.remaining >= 0
    return order if is_it and is_sound and (told.status != "FILLED" or not order.remaining) else None


def _refused(half: msgspec.Raw) -> Outcome | None:
    """Return the reason why one half certainly failed; None if that is uncertain."""
    try:
        told = msgspec.json.decode(half, type=HalfRefusedWire)
    except UNREADABLE:
        return None
    outcome = outcome_of(ExchangeRefusal(BAD_REQUEST, told.code, told.msg, None))
    return outcome if outcome.fate is Fate.REFUSED else None
