"""Answers and reports of orders: one is believed only if it is of what was sent, whole, and adds up."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Target, WrittenOrder
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.order_wire import read_cancelled, read_placed
from mcp_binance_server.exchange.spot.user_wire import ExecutionReportWire
from support.fixtures import DATA

SYMBOL = Symbol("BTCUSDT")
ID = "mbt-abcdefghijklmnopqrst"
LIMIT = WrittenOrder(
    ID, SYMBOL, "BUY", "LIMIT", "GTC", Quantity(Decimal("0.00100000")), Price(Decimal("116500.00000000"))
)
STOP = replace(LIMIT, kind="STOP_LOSS_LIMIT", stop_price=Price(Decimal("116600.00000000")))
TOLD: dict[str, Any] = {
    "symbol": "BTCUSDT", "orderId": 28, "orderListId": -1, "clientOrderId": ID, "transactTime": 1_784_592_123_456,
    "price": "116500.00000000", "origQty": "0.00100000", "executedQty": "0.00040000",
    "cummulativeQuoteQty": "46.60000000", "status": "PARTIALLY_FILLED", "timeInForce": "GTC", "type": "LIMIT",
    "side": "BUY", "fills": [],
}  # fmt: skip
SHORT = {name: TOLD[name] for name in ("symbol", "orderId", "orderListId", "clientOrderId", "transactTime")}
EXAMPLES: dict[str, Any] = msgspec.json.decode((DATA / "binance" / "payloads.json").read_bytes())
CANCELLED = {**TOLD, "status": "CANCELED", "origClientOrderId": ID, "clientOrderId": f"{ID}-c"}
OTHERS: tuple[dict[str, Any], ...] = (
    {"symbol": "ETHUSDT"}, {"clientOrderId": f"{ID}-c"}, {"side": "SELL"}, {"type": "LIMIT_MAKER"},
    {"timeInForce": "IOC"}, {"price": "116500.01000000"}, {"origQty": "0.00100001"}, {"stopPrice": "1.00000000"},
    {"orderListId": 7}, {"orderListId": None}, {"orderListId": "-1"}, {"executedQty": "0.00100001"},
    {"status": "FILLED"}, {"cummulativeQuoteQty": "-1.00000000"},
)  # fmt: skip


def placed(order: WrittenOrder, **changes: Any) -> object:  # noqa: ANN401 - JSON
    return read_placed(msgspec.json.encode({**TOLD, **changes}), order)


@pytest.mark.parametrize("change", OTHERS, ids=str)
def test_an_answer_of_another_order_is_not_believed(change: dict[str, Any]) -> None:
    assert placed(LIMIT) is not None
    assert placed(LIMIT, **change) is None


def test_a_stop_is_believed_with_its_own_stop_price_alone() -> None:
    assert placed(STOP, type="STOP_LOSS_LIMIT", stopPrice="116600.00000000") is not None
    assert placed(STOP, type="STOP_LOSS_LIMIT", stopPrice="116600.01000000") is None
    assert placed(STOP, type="STOP_LOSS_LIMIT") is None


def test_a_trailing_stop_is_believed_with_its_own_delta_alone() -> None:
    trailing = replace(LIMIT, kind="STOP_LOSS_LIMIT", trailing_bps=150)
    kind = {"type": "STOP_LOSS_LIMIT"}

    # The documents do not say which stop price is told: none, zero, or the trigger of the moment.
    for stop in ({}, {"stopPrice": "0.00000000"}, {"stopPrice": "117000.00000000"}):
        made = placed(trailing, **kind, **stop, trailingDelta=150, trailingTime=-1)
        assert isinstance(made, Order)
        assert (made.trailing_bps, made.trailing_ms) == (150, None)
    for wrong in (149, 0, None, "150", -150):
        assert placed(trailing, **kind, trailingDelta=wrong) is None
    assert placed(trailing, **kind) is None
    assert placed(STOP, **kind, stopPrice="116600.00000000", trailingDelta=150) is None


def test_a_report_has_the_delta_and_the_time_since_when_it_follows() -> None:
    told: dict[str, Any] = EXAMPLES["user_events"]["executionReport_trailing_stop"]["event"]
    plain = {name: value for name, value in told.items() if name not in {"d", "D"}}

    def read(event: dict[str, Any]) -> tuple[int | None, int | None]:
        order = msgspec.convert(event, ExecutionReportWire).to_domain().order
        return order.trailing_bps, order.trailing_ms

    assert read(told) == (100, 1784592123456)
    assert read({**plain, "d": 100}) == (100, None)
    assert read({**told, "D": -1}) == (100, None)
    assert read(plain) == (None, None)


def test_how_long_an_order_lasts_that_only_makes_is_the_exchanges_word() -> None:
    maker = replace(LIMIT, kind="LIMIT_MAKER")

    assert placed(maker, type="LIMIT_MAKER", timeInForce="GTX") is not None


@pytest.mark.parametrize("change", [{"orderListId": 7}, {"symbol": "ETHUSDT"}, {"clientOrderId": "x"}], ids=str)
def test_a_short_answer_is_believed_if_it_is_of_this_order_alone(change: dict[str, Any]) -> None:
    assert read_placed(msgspec.json.encode(SHORT), LIMIT) is not None
    assert read_placed(msgspec.json.encode({**SHORT, **change}), LIMIT) is None


@pytest.mark.parametrize(
    "change",
    [{"orderListId": 7}, {"status": "FILLED"}, {"origClientOrderId": "x"}, {"executedQty": "0.00200000"}],
    ids=str,
)
def test_a_cancel_is_believed_if_it_is_of_this_order_alone(change: dict[str, Any]) -> None:
    target = Target(SYMBOL, ID, 28)

    assert read_cancelled(msgspec.json.encode(CANCELLED), target) is not None
    assert read_cancelled(msgspec.json.encode({**CANCELLED, **change}), target) is None


@pytest.mark.parametrize(
    "change", [{"q": "0.00000000"}, {"z": "0.00000000"}, {"l": "0.00400001"}, {"z": "0.01000001"}], ids=str
)
def test_a_report_of_more_than_there_was_is_none(change: dict[str, Any]) -> None:
    told: dict[str, Any] = EXAMPLES["user_events"]["executionReport_partial_trade"]["event"]

    msgspec.convert(told, ExecutionReportWire)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**told, **change}, ExecutionReportWire)
