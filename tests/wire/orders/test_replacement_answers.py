"""Answers to a replacement and to a smaller quantity: what became of either half is certain, or is called unknown."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from mcp_binance_server.channel import HttpAnswer
from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Amendment, Fate, Outcome, Replacement, Target
from mcp_binance_server.exchange.spot.order_params import amendment_params, replacement_params
from mcp_binance_server.exchange.spot.replacement_wire import outcome_of_replacement, read_amended, read_replaced
from mcp_binance_server.exchange.wire import read_refusal
from support.fixtures import DATA
from support.orders.lists import (
    AMENDMENT,
    NEW_ID,
    NEW_NUMBER,
    OLD_ID,
    OLD_NUMBER,
    REPLACEMENT,
    SYMBOL,
    amended_body,
    half_replaced_body,
    limit,
    replaced_body,
)

EXAMPLES: dict[str, Any] = msgspec.json.decode((DATA / "binance" / "payloads.json").read_bytes())
SENT = {name: str(value) for name, value in replacement_params(REPLACEMENT, f"{OLD_ID}-c").items()}
TRUE = replaced_body(SENT)
OLD, NEW = TRUE["cancelResponse"], TRUE["newOrderResponse"]


def replaced(**changed: Any) -> Outcome | None:  # noqa: ANN401 - JSON
    return read_replaced(msgspec.json.encode({**TRUE, **changed}), REPLACEMENT)


def test_both_halves_are_told() -> None:
    outcome = replaced()

    assert outcome is not None
    assert outcome.fate is Fate.ACCEPTED
    assert outcome.order is not None
    assert outcome.target is not None
    assert (outcome.order.client_order_id, outcome.order.order_id, outcome.order.status) == (NEW_ID, NEW_NUMBER, "NEW")
    assert (outcome.target.client_order_id, outcome.target.order_id, outcome.target.status) == (
        OLD_ID,
        OLD_NUMBER,
        "CANCELED",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"cancelResult": "FAILURE"},
        {"newOrderResult": "FAILURE"},
        {"newOrderResult": "NOT_ATTEMPTED"},
        {"cancelResponse": None},
        {"newOrderResponse": None},
        {"cancelResponse": {**OLD, "status": "NEW"}},
        {"cancelResponse": {**OLD, "origClientOrderId": "x"}},
        {"cancelResponse": {**OLD, "orderId": 7}},
        {"cancelResponse": {**OLD, "orderListId": 7}},
        {"cancelResponse": {name: value for name, value in OLD.items() if name != "origQty"}},
        {"newOrderResponse": {**NEW, "clientOrderId": OLD_ID}},
        {"newOrderResponse": {**NEW, "orderId": OLD_NUMBER}},
        {"newOrderResponse": {**NEW, "price": "61000.00000000"}},
        {"newOrderResponse": {**NEW, "origQty": "0.02000000"}},
        {"newOrderResponse": {"code": -2010, "msg": "no"}},
        {"cancelResponse": NEW, "newOrderResponse": OLD},
    ],
    ids=str,
)
def test_a_success_of_something_else_is_not_believed(change: dict[str, Any]) -> None:
    assert replaced(**change) is None


def judged(status: int, body: dict[str, Any]) -> Outcome:
    content = msgspec.json.encode(body)
    return outcome_of_replacement(read_refusal(HttpAnswer(status, {}, content)), content, REPLACEMENT)


@pytest.mark.parametrize("status", [409, 429])
def test_the_old_one_is_gone_and_the_new_one_refused(status: int) -> None:
    outcome = judged(status, half_replaced_body(-2021))

    assert (outcome.fate, outcome.order, outcome.code) == (Fate.REFUSED, None, -2010)
    assert outcome.target is not None
    assert (outcome.target.client_order_id, outcome.target.status) == (OLD_ID, "CANCELED")
    assert outcome.reason == (
        "the old order is cancelled, and the new one was refused: the order would immediately match and take "
        '(Binance: "Order would immediately match and take.")'
    )


@pytest.mark.parametrize("status", [400, 429])
@pytest.mark.parametrize(
    "new", [{}, {"newOrderResult": "FAILURE", "newOrderResponse": {"code": -2010, "msg": "Market is closed."}}]
)
def test_where_nothing_was_done_the_old_one_stands(status: int, new: dict[str, Any]) -> None:
    outcome = judged(status, half_replaced_body(-2022, **new))

    assert (outcome.fate, outcome.order, outcome.target, outcome.code) == (Fate.REFUSED, None, None, -2011)
    assert outcome.reason == 'nothing was replaced: no open order with that ID (Binance: "Unknown order sent.")'


REFUSED: dict[str, Any] = {"code": -2010, "msg": "no"}
UNSURE: dict[str, Any] = {"code": -1007, "msg": "Timeout waiting for response from backend server."}
DOUBTS: tuple[tuple[int, dict[str, Any]], ...] = (
    (409, half_replaced_body(-2021, cancelResult="FAILURE", newOrderResult="SUCCESS", newOrderResponse=NEW)),
    (409, half_replaced_body(-2021, cancelResult="FAILURE", cancelResponse=REFUSED)),
    (409, half_replaced_body(-2021, newOrderResult="SUCCESS")),
    (409, half_replaced_body(-2021, newOrderResult="NOT_ATTEMPTED")),
    (409, half_replaced_body(-2021, newOrderResponse=UNSURE)),
    (409, half_replaced_body(-2021, newOrderResponse=NEW)),
    (409, half_replaced_body(-2021, newOrderResponse=None)),
    (409, half_replaced_body(-2021, cancelResponse=None)),
    (409, half_replaced_body(-2021, cancelResponse={**OLD, "orderId": 7})),
    (409, half_replaced_body(-2021, cancelResponse={**OLD, "status": "NEW"})),
    (409, half_replaced_body(-2022)),
    (409, {"code": -2021, "msg": "Order cancel-replace partially failed."}),
    (409, {"code": -2021, "msg": "Order cancel-replace partially failed.", "data": None}),
    (409, {"code": -2010, "msg": "Order would immediately match and take."}),
    (400, half_replaced_body(-2021)),
    (400, {"code": -2022, "msg": "Order cancel-replace failed."}),
    (400, half_replaced_body(-2022, cancelResult="SUCCESS")),
    (400, half_replaced_body(-2022, newOrderResult="SUCCESS")),
    (400, half_replaced_body(-2022, newOrderResult="FAILURE")),
    (400, half_replaced_body(-2022, cancelResponse=UNSURE)),
    (400, half_replaced_body(-2022, newOrderResult="FAILURE", newOrderResponse=UNSURE)),
    (400, half_replaced_body(-2022, newOrderResult="SUCCESS", newOrderResponse=REFUSED)),
    (429, {**half_replaced_body(-2022), "code": -2021}),
    (429, {**half_replaced_body(-2021), "code": -2022}),
    (418, half_replaced_body(-2021)),
    (500, half_replaced_body(-2021)),
    (503, half_replaced_body(-2022)),
)


@pytest.mark.parametrize(("status", "body"), DOUBTS, ids=str)
def test_what_the_halves_do_not_say_together_is_unknown(status: int, body: dict[str, Any]) -> None:
    outcome = judged(status, body)

    assert (outcome.fate, outcome.order, outcome.target) == (Fate.UNKNOWN, None, None)
    assert "it may have been executed" in outcome.reason


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [(429, -1015, "too many orders"), (400, -1013, "rule of this symbol"), (400, -2010, "rejected the order")],
)
def test_a_refusal_of_the_whole_request_is_one_of_any_order(status: int, code: int, words: str) -> None:
    outcome = judged(status, {"code": code, "msg": "So it is."})

    assert (outcome.fate, outcome.target) == (Fate.REFUSED, None)
    assert words in outcome.reason


def test_the_published_answers_are_read() -> None:
    target = Target(SYMBOL, "mbs-01JZQ4T7K3M8X2R5V9", 41_200_881_231)
    order = limit("mbs-01JZQ4T8A1B2C3D4E5", price="114500")
    replacement = Replacement(target, replace(order, price=Price(Decimal(114500))))
    errors = EXAMPLES["errors"]

    assert read_replaced(msgspec.json.encode(EXAMPLES["rest"]["cancelReplace"]["body"]), replacement) is not None
    found: dict[str, Outcome] = {}
    for name in ("partial_cancel_ok", "partial_new_ok", "failed", "order_limit"):
        told = errors[f"cancelReplace_{name}"]
        body = msgspec.json.encode(told["body"])
        found[name] = outcome_of_replacement(read_refusal(HttpAnswer(told["status"], {}, body)), body, replacement)
    assert {name: (each.fate, each.target is not None) for name, each in found.items()} == {
        "partial_cancel_ok": (Fate.REFUSED, True),
        "partial_new_ok": (Fate.UNKNOWN, False),
        "failed": (Fate.REFUSED, False),
        "order_limit": (Fate.REFUSED, True),
    }


def amended(amendment: Amendment = AMENDMENT, **changed: Any) -> object:  # noqa: ANN401 - JSON
    sent = {name: str(value) for name, value in amendment_params(amendment).items()}
    return read_amended(msgspec.json.encode(amended_body(sent, **changed)), amendment)


@pytest.mark.parametrize("order_id", [None, OLD_NUMBER])
def test_a_smaller_order_keeps_its_id_and_what_was_executed(order_id: int | None) -> None:
    amendment = replace(AMENDMENT, target=replace(AMENDMENT.target, order_id=order_id))
    traded = {"status": "PARTIALLY_FILLED", "executedQty": "0.004", "cumulativeQuoteQty": "244.00000000"}

    order = amended(amendment, **traded)

    assert getattr(order, "client_order_id", None) == OLD_ID
    assert [getattr(order, name) for name in ("quantity", "executed", "quote_spent")] == [
        Decimal("0.008"),
        Decimal("0.004"),
        Decimal(244),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"symbol": "ETHUSDT"},
        {"clientOrderId": "x"},
        {"origClientOrderId": "x"},
        {"orderId": 7},
        {"orderListId": 7},
        {"qty": "0.01000000"},
        {"qty": None},
        {"executedQty": "0.00900000"},
        {"cumulativeQuoteQty": "-1.00000000"},
        {"status": "CANCELED"},
        {"status": "REJECTED"},
        {"status": "FILLED"},
    ],
    ids=str,
)
def test_an_amendment_of_something_else_is_not_believed(change: dict[str, Any]) -> None:
    assert amended() is not None
    assert amended(**change) is None


def test_an_order_that_has_traded_all_that_is_left_of_it_is_over() -> None:
    assert amended(status="FILLED", executedQty="0.00800000", cumulativeQuoteQty="488.00000000") is not None


def test_the_published_amendment_was_renamed_and_is_therefore_not_ours() -> None:
    body = EXAMPLES["rest"]["amendKeepPriority"]["body"]
    amendment = Amendment(Target(SYMBOL, "mbs-01JZQ4T7K3M8X2R5V9", 41_200_881_231), Quantity(Decimal("0.008")))
    kept = {**body["amendedOrder"], "clientOrderId": "mbs-01JZQ4T7K3M8X2R5V9"}

    assert read_amended(msgspec.json.encode(body), amendment) is None
    assert read_amended(msgspec.json.encode({**body, "amendedOrder": kept}), amendment) is not None
