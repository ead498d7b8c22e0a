"""What a broker at the exchange makes of each request: which calls leave, in which order, and what it says of them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import msgspec
import pytest

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.domain.order_requests import Fate, Target, Written
from mcp_binance_server.trading.spot import SpotBroker
from support.clock import FakeClock
from support.desk import Loop
from support.order_socket import ORDER, Received, success
from support.orders.lists import AMENDMENT, LIST_ID, LIST_TARGET, LISTS, OLD_ID, REPLACEMENT, half_replaced_body
from support.planting import Unread
from trading.spot_broker import spot_broker

DUPLICATE: dict[str, Any] = {"code": -2010, "msg": "Duplicate order sent."}
TEST, REPLACE = "POST /api/v3/order/test", "POST /api/v3/order/cancelReplace"


def true(received: Received) -> tuple[int, bytes]:
    return 200, success(received)


@dataclass
class Writes(Loop):
    """The exchange in this process, but for its writes: a script answers those."""

    exchange: SimulatedExchange
    script: Callable[[Received], tuple[int, bytes]]
    sent: list[Received] = field(default_factory=list[Received])

    def __post_init__(self) -> None:
        super().__init__(self.exchange)

    @property
    def calls(self) -> list[str]:
        return [f"{each.method} {each.path}" for each in self.sent]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            return await super().handle_async_request(request)
        self.sent.append(Received(request.method, request.url.path, dict(request.url.params), {}))
        status, body = self.script(self.sent[-1])
        return httpx2.Response(status, stream=Unread(body))


@asynccontextmanager
async def broker(
    exchange: SimulatedExchange, clock: FakeClock, script: Callable[[Received], tuple[int, bytes]] = true
) -> AsyncGenerator[tuple[SpotBroker, Writes]]:
    writes = Writes(exchange, script)
    async with spot_broker(exchange, clock, writes) as own:
        yield own, writes


class Passed:
    """A gate that counts, and knows what had left when it was passed."""

    def __init__(self, writes: Writes) -> None:
        self.writes, self.after = writes, list[int]()

    async def __call__(self) -> None:
        self.after.append(len(self.writes.sent))


REQUESTS: tuple[tuple[Written, list[str]], ...] = (
    (ORDER, ["POST /api/v3/order"]),
    *((orders, [f"POST /api/v3/orderList/{shape.lower()}"]) for shape, orders in LISTS.items()),
    (REPLACEMENT, [TEST, REPLACE]),
    (AMENDMENT, ["PUT /api/v3/order/amend/keepPriority"]),
)


@pytest.mark.parametrize(("request_", "calls"), REQUESTS, ids=[calls[-1] for _, calls in REQUESTS])
async def test_each_request_is_one_call_behind_the_gate(
    request_: Written, calls: list[str], exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with broker(exchange, clock) as (own, writes):
        gate = Passed(writes)

        outcome = await own.place(request_, gate)

    assert (outcome.fate, writes.calls) == (Fate.ACCEPTED, calls)
    assert gate.after == [len(calls) - 1]
    modes = [each.params.get("selfTradePreventionMode") for each in writes.sent]
    assert modes == [None if request_ is AMENDMENT else "EXPIRE_TAKER"] * len(calls)


@pytest.mark.parametrize(
    ("target", "call", "name"),
    [
        (Target(ORDER.symbol, ORDER.client_order_id), "DELETE /api/v3/order", ORDER.client_order_id),
        (LIST_TARGET, "DELETE /api/v3/orderList", LIST_ID),
    ],
)
async def test_a_cancel_is_of_an_order_or_of_a_whole_list(
    target: Target, call: str, name: str, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with broker(exchange, clock) as (own, writes):
        outcome = await own.cancel(target, Passed(writes))

    assert (outcome.fate, writes.calls) == (Fate.ACCEPTED, [call])
    assert writes.sent[0].params["newClientOrderId"] == f"{name}-c"


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (400, {"code": -1013, "msg": "Filter failure: LOT_SIZE"}, "would be rejected, so the old one stays open"),
        (503, {"code": -1008, "msg": "busy"}, "did not confirm a test of the new order"),
        (200, [], "did not confirm a test of the new order"),
    ],
    ids=["refused", "unsure", "senseless"],
)
async def test_an_order_that_is_not_taken_in_a_trial_costs_no_old_one(
    status: int, body: object, words: str, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with broker(exchange, clock, lambda _: (status, msgspec.json.encode(body))) as (own, writes):
        gate = Passed(writes)

        outcome = await own.place(REPLACEMENT, gate)

    assert (outcome.fate, outcome.order, outcome.target) == (Fate.NOT_SENT, None, None)
    assert words in outcome.reason
    assert (writes.calls, gate.after) == ([TEST], [])


@pytest.mark.parametrize("request_", [ORDER, *LISTS.values()], ids=lambda each: type(each).__name__)
async def test_a_name_that_is_open_already_is_this_very_request(
    request_: Written, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    async with broker(exchange, clock, lambda _: (400, msgspec.json.encode(DUPLICATE))) as (own, writes):
        outcome = await own.place(request_, Passed(writes))

    assert (outcome.fate, outcome.legs, len(writes.sent)) == (Fate.UNKNOWN, (), 1)


@pytest.mark.parametrize(("refused", "fate"), [(DUPLICATE, Fate.UNKNOWN), ({}, Fate.REFUSED)])
async def test_a_replacement_whose_old_order_is_gone_says_so(
    refused: dict[str, Any], fate: Fate, exchange: SimulatedExchange, clock: FakeClock
) -> None:
    body = half_replaced_body(-2021, **({"newOrderResponse": refused} if refused else {}))

    def script(received: Received) -> tuple[int, bytes]:
        return true(received) if received.path.endswith("/test") else (409, msgspec.json.encode(body))

    async with broker(exchange, clock, script) as (own, writes):
        outcome = await own.place(REPLACEMENT, Passed(writes))

    assert (outcome.fate, writes.calls) == (fate, [TEST, REPLACE])
    assert outcome.reason.startswith("the old order is cancelled, and the new one was refused")
    assert outcome.target is not None
    assert (outcome.target.client_order_id, outcome.target.status) == (OLD_ID, "CANCELED")
