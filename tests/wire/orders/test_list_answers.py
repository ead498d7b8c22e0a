"""Answers to lists of orders: one is believed only with all its orders, each of this list and as it was sent."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import ListShape, WrittenList
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.exchange.spot.order_list_wire import read_cancelled_list, read_list
from mcp_binance_server.exchange.spot.order_params import list_params
from support.fixtures import DATA
from support.orders.lists import (
    BELOW,
    ENTRY,
    FIRST_NUMBER,
    LIST_ID,
    LIST_NUMBER,
    LIST_TARGET,
    LISTS,
    Body,
    cancelled_list_body,
    exits,
    list_body,
)

Change = Callable[[Body], object]
EXAMPLES: dict[str, Any] = msgspec.json.decode((DATA / "binance" / "payloads.json").read_bytes())["rest"]
SHORT = ("symbol", "orderId", "orderListId", "clientOrderId", "transactTime")


def told(written: WrittenList, change: Change | None = None) -> Body:
    sent = {name: str(value) for name, value in list_params(written).items()}
    body = list_body(sent, written.shape)
    if change is not None:
        change(body)
    return body


def read(written: WrittenList, change: Change | None = None) -> tuple[Order, ...] | None:
    return read_list(msgspec.json.encode(told(written, change)), written)


def report(number: int, **changes: Any) -> Change:  # noqa: ANN401 - JSON
    return lambda body: body["orderReports"][number].update(changes)


def without(number: int, name: str) -> Change:
    return lambda body: body["orderReports"][number].pop(name)


@pytest.mark.parametrize("shape", LISTS)
def test_a_list_is_read_with_its_orders_as_they_were_written(shape: ListShape) -> None:
    legs = read(LISTS[shape])

    assert legs is not None
    assert [each.client_order_id for each in legs] == [each.client_order_id for each in LISTS[shape].orders]
    assert [each.quantity for each in legs] == [each.quantity for each in LISTS[shape].orders]
    first = "NEW", *["NEW" if shape == "OCO" else "PENDING_NEW"] * (len(legs) - 1)
    assert [each.status for each in legs] == [*first]
    assert {each.order_id for each in legs} == {*range(FIRST_NUMBER, FIRST_NUMBER + len(legs))}


def test_a_purchase_has_its_stop_above_and_its_gain_below() -> None:
    bought = WrittenList(LIST_ID, "OCO", exits("BUY"))

    assert read(bought) is not None


# What a list is, and what each of its orders is: the report of the first order is the first one.
OTHERS: dict[str, Change] = {
    "another symbol": lambda body: body.update(symbol="ETHUSDT"),
    "another list": lambda body: body.update(listClientOrderId=f"{LIST_ID}-x"),
    "no number": lambda body: body.update(orderListId=-1),
    "no number, nor have its orders": lambda body: [
        each.update(orderListId=-1) for each in (body, *body["orderReports"])
    ],
    "refused": lambda body: body.update(listStatusType="RESPONSE", listOrderStatus="REJECT"),
    "an order too few": lambda body: body["orders"].pop(),
    "a report too few": lambda body: body["orderReports"].pop(),
    "no reports": lambda body: body.pop("orderReports"),
    "an order twice": lambda body: body["orders"].append(body["orders"][0]),
    "a report twice": lambda body: body["orderReports"].append(body["orderReports"][0]),
    "one for another": lambda body: body["orderReports"].__setitem__(0, body["orderReports"][1]),
    "one number for two": lambda body: body["orders"][0].update(orderId=body["orders"][1]["orderId"]),
    "two numbers for one": lambda body: body["orders"][0].update(orderId=7),
    "a stranger among them": lambda body: body["orders"][0].update(clientOrderId="x"),
    "a stranger's symbol": lambda body: body["orders"][0].update(symbol="ETHUSDT"),
    "a report of another list": report(0, orderListId=LIST_NUMBER + 1),
    "a report of no list": report(0, orderListId=-1),
    "a report that tells no list": without(0, "orderListId"),
    "a report of another symbol": report(0, symbol="ETHUSDT"),
    "a report of another id": report(0, clientOrderId="x"),
    "another side": report(0, side="NONE"),
    "another kind": report(0, type="STOP_LOSS"),
    "another quantity": report(0, origQty="0.01000001"),
    "no quantity": without(0, "origQty"),
    "another price": report(0, price="1.00000000"),
    "another stop": report(0, stopPrice="1.00000000"),
    "more executed than ordered": report(0, executedQty="0.02000000"),
    "filled with nothing": report(0, status="FILLED"),
    "pending and executed": report(1, status="PENDING_NEW", executedQty="0.00100000"),
    "a report that is none": lambda body: body["orderReports"].__setitem__(0, None),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("shape", ["OCO", "OTOCO", "OPO"])
def test_a_list_that_is_another_is_not_believed(shape: ListShape, change: Change) -> None:
    assert read(LISTS[shape], change) is None


@pytest.mark.parametrize("shape", LISTS)
def test_which_orders_end_each_other_is_told_by_the_exchanges_word(shape: ListShape) -> None:
    word = "OTO" if shape == "OCO" else "OCO"

    assert read(LISTS[shape], lambda body: body.update(contingencyType=word)) is None


def test_short_reports_of_a_list_are_read_as_well() -> None:
    def shorten(body: Body) -> None:
        body["orderReports"] = [{name: each[name] for name in SHORT} for each in body["orderReports"]]

    legs = read(LISTS["OCO"], shorten)

    assert legs is not None
    assert [each.stop_price for each in legs] == [Decimal(0), BELOW.stop_price]


@pytest.mark.parametrize(("said", "taken"), [("0.00000000", "0.01"), ("0.00999000", "0.00999"), ("0.01000000", "0.01")])
def test_what_an_exit_sells_that_is_paid_by_its_entry_is_no_more_than_was_written(said: str, taken: str) -> None:
    legs = read(LISTS["OPO"], report(1, origQty=said))

    assert legs is not None
    assert legs[1].quantity == Decimal(taken)
    assert read(LISTS["OPO"], report(1, origQty="0.01000001")) is None
    assert read(LISTS["OTO"], report(1, origQty="0.00999000")) is None
    assert read(LISTS["OPO"], report(0, origQty="0.00999000")) is None, "the entry is written"


def test_an_entry_that_is_filled_at_once_is_told_with_exits_that_still_wait() -> None:
    legs = read(LISTS["OTOCO"], report(0, status="FILLED", executedQty="0.01", cummulativeQuoteQty="610.00000000"))

    assert legs is not None
    assert [each.status for each in legs] == ["FILLED", "PENDING_NEW", "PENDING_NEW"]


def test_an_entry_that_expires_at_once_ends_its_list() -> None:
    written = replace(LISTS["OTO"], orders=(replace(ENTRY, time_in_force="FOK"), BELOW))

    def expire(body: Body) -> None:
        body.update(listStatusType="ALL_DONE", listOrderStatus="ALL_DONE")
        for each in body["orderReports"]:
            each["status"] = "EXPIRED"

    legs = read(written, expire)

    assert legs is not None
    assert {each.status for each in legs} == {"EXPIRED"}


def test_the_published_answers_to_a_list_are_read() -> None:
    body, symbol = EXAMPLES["orderListOco"]["body"], ENTRY.symbol
    amounts = Quantity(Decimal("0.01")), Decimal(125000), None
    above, below = LISTS["OCO"].orders
    written = WrittenList(
        "mbs-oco-01JZQ4",
        "OCO",
        (
            replace(above, client_order_id="mbs-oco-a", quantity=amounts[0], price=amounts[1]),
            replace(
                below,
                client_order_id="mbs-oco-b",
                quantity=amounts[0],
                price=Decimal(109900),
                stop_price=Decimal(110000),
            ),
        ),
    )
    cancelled = EXAMPLES["cancelOrderList"]["body"]

    assert read_list(msgspec.json.encode(body), written) is not None
    assert read_cancelled_list(
        msgspec.json.encode(cancelled), replace(LIST_TARGET, symbol=symbol, client_order_id="mbs-oco-01JZQ4")
    )


def cancelled(change: Change | None = None) -> tuple[Order, ...] | None:
    body = cancelled_list_body(f"{LIST_ID}-c")
    if change is not None:
        change(body)
    return read_cancelled_list(msgspec.json.encode(body), LIST_TARGET)


def test_the_cancel_of_a_list_tells_each_order_by_its_own_id() -> None:
    legs = cancelled()

    assert legs is not None
    assert [(each.client_order_id, each.status) for each in legs] == [
        (f"{LIST_ID}-a", "CANCELED"),
        (f"{LIST_ID}-b", "CANCELED"),
    ]


def test_a_list_whose_entry_was_filled_before_is_cancelled_all_the_same() -> None:
    done = {"status": "FILLED", "executedQty": "0.01000000", "cummulativeQuoteQty": "660.00000000"}

    assert cancelled(report(0, **done)) is not None
    assert cancelled(lambda body: body["orderReports"].pop(0)) is not None, "it need not be told again"


STILL_OPEN: tuple[Change, ...] = (
    lambda body: body.update(symbol="ETHUSDT"),
    lambda body: body.update(listClientOrderId="x"),
    lambda body: body.update(listOrderStatus="EXECUTING"),
    lambda body: body.update(orderReports=[]),
    lambda body: body["orders"].pop(),
    lambda body: body["orders"].append(body["orders"][0]),
    report(0, status="NEW"),
    report(0, status="PENDING_NEW"),
    report(0, orderListId=7),
    report(0, symbol="ETHUSDT"),
    report(0, origClientOrderId="x"),
    report(0, orderId=7),
    report(0, executedQty="1.00000000"),
    lambda body: [each.update(status="EXPIRED") for each in body["orderReports"]],
)


@pytest.mark.parametrize("change", STILL_OPEN)
def test_a_cancel_that_does_not_say_that_the_list_is_over_is_not_believed(change: Change) -> None:
    assert cancelled() is not None
    assert cancelled(change) is None
