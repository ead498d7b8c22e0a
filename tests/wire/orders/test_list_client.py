"""What leaves for a list, a replacement and a smaller quantity, by name and value, and how it counts."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Fate, ListShape, Outcome, Target, WrittenList, WrittenOrder
from mcp_binance_server.domain.symbols import OrderLimit, Symbol
from mcp_binance_server.exchange.spot.order_counts import OrderCounts, TooManyOrders
from mcp_binance_server.exchange.spot.orders import OrderClient
from support.clock import FakeClock
from support.order_socket import OrderSocket, Received, answer, ok, ordering, refusal, scripted, serving
from support.orders.lists import (
    ABOVE,
    AMENDMENT,
    BELOW,
    ENTRY,
    LIST_ID,
    LIST_TARGET,
    LISTS,
    OLD_ID,
    OLD_NUMBER,
    REPLACEMENT,
    exits,
    half_replaced_body,
    trailing_list,
)

STAMPS = ("timestamp", "signature", "recvWindow")
COMMON = {"symbol": "BTCUSDT", "listClientOrderId": LIST_ID, "newOrderRespType": "FULL"}
ENTERED = {
    "workingType": "LIMIT", "workingSide": "BUY", "workingPrice": "61000", "workingQuantity": "0.01",
    "workingTimeInForce": "GTC", "workingClientOrderId": f"{LIST_ID}-w",
}  # fmt: skip
PAIR = {
    "pendingSide": "SELL",
    "pendingAboveType": "LIMIT_MAKER", "pendingAbovePrice": "66000", "pendingAboveClientOrderId": f"{LIST_ID}-a",
    "pendingBelowType": "STOP_LOSS_LIMIT", "pendingBelowPrice": "57900", "pendingBelowStopPrice": "58000",
    "pendingBelowTimeInForce": "GTC", "pendingBelowClientOrderId": f"{LIST_ID}-b",
}  # fmt: skip
# https://developers.binance.com/docs/binance-spot-api-docs/rest-api/trading-endpoints#order-lists
EXPECTED: dict[ListShape, dict[str, str]] = {
    "OCO": {
        "side": "SELL", "quantity": "0.01",
        "aboveType": "LIMIT_MAKER", "abovePrice": "66000", "aboveClientOrderId": f"{LIST_ID}-a",
        "belowType": "STOP_LOSS_LIMIT", "belowPrice": "57900", "belowStopPrice": "58000", "belowTimeInForce": "GTC",
        "belowClientOrderId": f"{LIST_ID}-b",
    },
    "OTO": {
        **ENTERED, "pendingSide": "SELL", "pendingQuantity": "0.01", "pendingType": "STOP_LOSS_LIMIT",
        "pendingPrice": "57900", "pendingStopPrice": "58000", "pendingTimeInForce": "GTC",
        "pendingClientOrderId": f"{LIST_ID}-b",
    },
    "OTOCO": {**ENTERED, **PAIR, "pendingQuantity": "0.01"},
    "OPO": {
        **ENTERED, "pendingSide": "SELL", "pendingType": "LIMIT_MAKER", "pendingPrice": "66000",
        "pendingClientOrderId": f"{LIST_ID}-a",
    },
    "OPOCO": {**ENTERED, **PAIR},
}  # fmt: skip


async def open_gate() -> None:
    return None


def sent(seen: OrderSocket) -> dict[str, str]:
    assert len(seen.requests) == 1
    return {name: value for name, value in seen.requests[0].params.items() if name not in STAMPS}


@pytest.mark.parametrize("shape", LISTS)
async def test_a_list_leaves_with_exactly_these_parameters(shape: ListShape) -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.place_list(LISTS[shape], open_gate, self_trade="EXPIRE_TAKER")

    assert seen.paths == [f"POST orderList/{shape.lower()}"]
    assert sent(seen) == {**COMMON, **EXPECTED[shape], "selfTradePreventionMode": "EXPIRE_TAKER"}
    assert outcome.fate is Fate.ACCEPTED
    assert outcome.order is None
    assert [each.client_order_id for each in outcome.legs] == [each.client_order_id for each in LISTS[shape].orders]


@pytest.mark.parametrize("shape", ["OCO", "OTO", "OTOCO", "OPOCO"])
async def test_a_trailing_stop_of_a_list_leaves_with_a_delta_for_its_stop_price(shape: ListShape) -> None:
    clock, usual = FakeClock(), EXPECTED[shape]
    (name,) = (each for each in usual if each.endswith("StopPrice"))
    trailing = trailing_list(LISTS[shape])
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.place_list(trailing, open_gate)

    others = {each: value for each, value in usual.items() if each != name}
    assert sent(seen) == {**COMMON, **others, name.replace("StopPrice", "TrailingDelta"): "150"}
    assert outcome.fate is Fate.ACCEPTED
    assert [each.trailing_bps for each in outcome.legs] == [each.trailing_bps for each in trailing.orders]


async def test_a_list_that_buys_has_its_stop_above() -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.place_list(WrittenList(LIST_ID, "OCO", exits("BUY")), open_gate)

    told = sent(seen)
    assert (told["side"], told["aboveType"], told["aboveStopPrice"]) == ("BUY", "STOP_LOSS_LIMIT", "66000")
    assert (told["belowType"], told["belowPrice"], told.get("belowStopPrice")) == ("LIMIT_MAKER", "58000", None)
    assert outcome.fate is Fate.ACCEPTED


LESS = Quantity(Decimal("0.009"))
SENSELESS: dict[str, WrittenList] = {
    "another quantity": WrittenList(LIST_ID, "OCO", (ABOVE, replace(BELOW, quantity=LESS))),
    "another side": WrittenList(LIST_ID, "OCO", (ABOVE, replace(BELOW, side="BUY"))),
    "another symbol": WrittenList(LIST_ID, "OCO", (ABOVE, replace(BELOW, symbol=Symbol("ETHUSDT")))),
    "one id for two": WrittenList(LIST_ID, "OCO", (ABOVE, replace(BELOW, client_order_id=ABOVE.client_order_id))),
    "one id for all": WrittenList(LIST_ID, "OCO", (ABOVE, replace(BELOW, client_order_id=LIST_ID))),
    "one order": WrittenList(LIST_ID, "OCO", (ABOVE,)),
    "three orders": WrittenList(LIST_ID, "OTO", (ENTRY, ABOVE, BELOW)),
    "two orders": WrittenList(LIST_ID, "OTOCO", (ENTRY, ABOVE)),
    "an entry that waits": WrittenList(LIST_ID, "OTO", (replace(BELOW, side="BUY", client_order_id="w"), ABOVE)),
    "an exit that enters": WrittenList(LIST_ID, "OTO", (ENTRY, replace(ABOVE, side="BUY"))),
    "an entry that sells what it receives": WrittenList(
        LIST_ID, "OPO", (replace(ENTRY, side="SELL"), replace(ABOVE, side="BUY"))
    ),
    "an exit of less than it receives": WrittenList(LIST_ID, "OPO", (ENTRY, replace(ABOVE, quantity=LESS))),
    "an open price": WrittenList(LIST_ID, "OTO", (ENTRY, replace(ABOVE, kind="MARKET"))),
    "half a stop": WrittenList(LIST_ID, "OCO", (ABOVE, replace(BELOW, stop_price=None))),
}


@pytest.mark.parametrize("orders", SENSELESS.values(), ids=SENSELESS)
async def test_orders_that_make_no_list_never_leave(orders: WrittenList) -> None:
    async with serving(scripted(ok)) as seen, ordering(seen.url) as client:
        with pytest.raises(ValueError, match="never sent"):
            await client.place_list(orders, open_gate)

    assert seen.connections == 0


@pytest.mark.parametrize(
    ("order_id", "named"),
    [(OLD_NUMBER, {"cancelOrderId": str(OLD_NUMBER)}), (None, {"cancelOrigClientOrderId": OLD_ID})],
)
async def test_a_replacement_leaves_with_exactly_these_parameters(order_id: int | None, named: dict[str, str]) -> None:
    replacement = replace(REPLACEMENT, target=replace(REPLACEMENT.target, order_id=order_id))
    async with serving(scripted(ok)) as seen, ordering(seen.url) as client:
        outcome = await client.replace(replacement, open_gate, cancel_id=f"{OLD_ID}-c", self_trade="EXPIRE_TAKER")

    order = {"side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.01", "price": "60500"}
    assert seen.paths == ["POST order/cancelReplace"]
    assert sent(seen) == {
        "symbol": "BTCUSDT",
        **order,
        **named,
        "newClientOrderId": REPLACEMENT.order.client_order_id,
        "newOrderRespType": "FULL",
        "selfTradePreventionMode": "EXPIRE_TAKER",
        "cancelReplaceMode": "STOP_ON_FAILURE",
        "orderRateLimitExceededMode": "DO_NOTHING",
        "cancelNewClientOrderId": f"{OLD_ID}-c",
    }
    assert outcome.fate is Fate.ACCEPTED


@pytest.mark.parametrize("target", [Target(Symbol("ETHUSDT"), OLD_ID), LIST_TARGET])
async def test_an_order_replaces_neither_one_of_another_symbol_nor_a_list(target: Target) -> None:
    async with serving(scripted(ok)) as seen, ordering(seen.url) as client:
        with pytest.raises(ValueError, match="an order of the same symbol"):
            await client.replace(replace(REPLACEMENT, target=target), open_gate, cancel_id="c")

    assert seen.connections == 0


@pytest.mark.parametrize(
    ("order_id", "named"), [(OLD_NUMBER, {"orderId": str(OLD_NUMBER)}), (None, {"origClientOrderId": OLD_ID})]
)
async def test_a_smaller_order_asks_to_keep_its_id(order_id: int | None, named: dict[str, str]) -> None:
    amendment = replace(AMENDMENT, target=replace(AMENDMENT.target, order_id=order_id))
    async with serving(scripted(ok)) as seen, ordering(seen.url) as client:
        outcome = await client.amend(amendment, open_gate)

    assert seen.paths == ["PUT order/amend/keepPriority"]
    assert sent(seen) == {"symbol": "BTCUSDT", **named, "newQty": "0.008", "newClientOrderId": OLD_ID}
    assert outcome.order is not None
    assert (outcome.order.client_order_id, outcome.order.quantity) == (OLD_ID, Decimal("0.008"))


async def test_a_whole_list_is_cancelled_by_its_own_id() -> None:
    async with serving(scripted(ok)) as seen, ordering(seen.url) as client:
        outcome = await client.cancel(LIST_TARGET, open_gate, cancel_id=f"{LIST_ID}-c")

    assert seen.paths == ["DELETE orderList"]
    assert sent(seen) == {"symbol": "BTCUSDT", "listClientOrderId": LIST_ID, "newClientOrderId": f"{LIST_ID}-c"}
    assert {each.status for each in outcome.legs} == {"CANCELED"}


async def placed(client: OrderClient, what: ListShape | WrittenOrder) -> Outcome:
    if isinstance(what, WrittenOrder):
        return await client.place(what, open_gate)
    return await client.place_list(LISTS[what], open_gate)


@pytest.mark.parametrize(("shape", "orders"), [("OCO", 2), ("OTO", 2), ("OTOCO", 3), ("OPO", 2), ("OPOCO", 3)])
async def test_a_list_counts_as_so_many_orders(shape: ListShape, orders: int) -> None:
    clock = FakeClock(1_784_592_120_000)
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as made:
        # Half of the exchange's limit is ours: with one more than that, one list more would leave.
        counts = OrderCounts(made.counts.time, lambda: (OrderLimit(10_000, 2 * (3 * orders - 1)),))
        client = replace(made, counts=counts)
        for _ in range(2):
            await placed(client, shape)
        with pytest.raises(TooManyOrders) as caught:
            await placed(client, shape)

    assert (len(seen.requests), caught.value.orders_counted) == (2, 2 * orders)


async def test_a_replacement_counts_as_one_order_and_a_smaller_order_and_cancels_as_none() -> None:
    clock = FakeClock(1_784_592_120_000)
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as made:
        client = replace(made, counts=OrderCounts(made.counts.time, lambda: (OrderLimit(10_000, 4),)))
        for _ in range(4):
            await client.amend(AMENDMENT, open_gate)
            await client.cancel(LIST_TARGET, open_gate, cancel_id=f"{LIST_ID}-c")
        for _ in range(2):
            await client.replace(REPLACEMENT, open_gate, cancel_id=f"{OLD_ID}-c")
        with pytest.raises(TooManyOrders):
            await client.replace(REPLACEMENT, open_gate, cancel_id=f"{OLD_ID}-c")
        await client.amend(AMENDMENT, open_gate)

    assert len(seen.requests) == 4 + 4 + 2 + 1


LIMITED: dict[str, dict[str, Any]] = {
    "the old order is gone": half_replaced_body(-2021, newOrderResponse={"code": -1015, "msg": "Too many new orders."}),
    "nothing was done": half_replaced_body(-2022),
    "before anything was tried": {
        "code": -1015,
        "msg": "Too many new orders; current limit is 50 orders per 10 SECOND.",
    },
}


@pytest.mark.parametrize("body", LIMITED.values(), ids=LIMITED)
async def test_too_many_orders_keep_orders_back_and_nothing_else(body: dict[str, Any]) -> None:
    clock = FakeClock(1_784_592_120_000)

    def script(received: Received) -> bytes:
        return answer_with(429, body) if received.path.endswith("cancelReplace") else ok(received)

    async with serving(scripted(script, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.replace(REPLACEMENT, open_gate, cancel_id=f"{OLD_ID}-c")
        with pytest.raises(TooManyOrders) as caught:
            await client.replace(REPLACEMENT, open_gate, cancel_id=f"{OLD_ID}-c")
        cancelled = await client.cancel(LIST_TARGET, open_gate, cancel_id=f"{LIST_ID}-c")

    assert outcome.fate is Fate.REFUSED
    assert (outcome.target is not None) == (body["code"] == -2021)
    assert caught.value.retry_after_secs == 10
    assert cancelled.fate is Fate.ACCEPTED
    assert len(seen.requests) == 2


def answer_with(status: int, body: dict[str, Any]) -> bytes:
    return answer(status, msgspec.json.encode(body))


async def test_the_cancel_of_a_list_goes_on_without_the_exchanges_clock() -> None:
    clock = FakeClock()

    def script(received: Received) -> bytes:
        return refusal(503, -1008, "busy") if received.path.endswith("/time") else ok(received)

    async with serving(scripted(script)) as seen, ordering(seen.url, clock=clock, has_read_clock=False) as client:
        outcome = await client.cancel(LIST_TARGET, open_gate, cancel_id=f"{LIST_ID}-c")

    assert outcome.fate is Fate.ACCEPTED
    assert seen.paths[-1] == "DELETE orderList"
