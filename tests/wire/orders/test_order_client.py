"""What leaves for an order or a cancel, byte for byte, and what is heeded of the answer."""

import hashlib
import hmac
import json
from dataclasses import replace
from decimal import Decimal
from functools import partial
from urllib.parse import quote

import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Kind, Outcome, WrittenOrder
from mcp_binance_server.exchange.signing import HmacSigner, Principal
from support.clock import FakeClock
from support.order_socket import (
    API_KEY,
    CANCEL_ID,
    ORDER,
    PLACED_MS,
    SECRET,
    TARGET,
    Received,
    answer,
    ok,
    ordering,
    scripted,
    serving,
    success,
)


async def open_gate() -> None:
    return None


def of_kind(kind: Kind, stop_price: str | None = None) -> WrittenOrder:
    return replace(ORDER, kind=kind, stop_price=None if stop_price is None else Price(Decimal(stop_price)))


COMMON = {"symbol": "BTCUSDT", "side": "BUY", "quantity": "0.01", "price": "61834.2", "newOrderRespType": "FULL"}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (ORDER, {"type": "LIMIT", "timeInForce": "GTC"}),
        (replace(ORDER, time_in_force="IOC"), {"type": "LIMIT", "timeInForce": "IOC"}),
        (replace(ORDER, time_in_force="FOK"), {"type": "LIMIT", "timeInForce": "FOK"}),
        (of_kind("LIMIT_MAKER"), {"type": "LIMIT_MAKER"}),
        (
            of_kind("STOP_LOSS_LIMIT", "60000.10"),
            {"type": "STOP_LOSS_LIMIT", "timeInForce": "GTC", "stopPrice": "60000.1"},
        ),
        (
            of_kind("TAKE_PROFIT_LIMIT", "70000"),
            {"type": "TAKE_PROFIT_LIMIT", "timeInForce": "GTC", "stopPrice": "70000"},
        ),
        (
            replace(ORDER, kind="STOP_LOSS_LIMIT", trailing_bps=150),
            {"type": "STOP_LOSS_LIMIT", "timeInForce": "GTC", "trailingDelta": "150"},
        ),
    ],
    ids=lambda each: each.kind + each.time_in_force if isinstance(each, WrittenOrder) else "",
)
async def test_an_order_leaves_with_exactly_these_parameters(order: WrittenOrder, expected: dict[str, str]) -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock, recv_window_ms=2_000) as client:
        outcome = await client.place(order, open_gate)

    sent = seen.requests[0].params
    signature = sent.pop("signature")
    stamps = {"recvWindow": "2000", "timestamp": str(clock.now_ms()), "newClientOrderId": ORDER.client_order_id}
    assert sent == {**COMMON, **expected, **stamps}
    assert seen.requests[0].headers["x-mbx-apikey"] == API_KEY
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in sent.items())
    assert signature == hmac.new(SECRET.encode(), query.encode(), hashlib.sha256).hexdigest()
    assert outcome.fate is Fate.ACCEPTED
    assert outcome.order is not None
    assert (outcome.order.client_order_id, outcome.order.status) == (ORDER.client_order_id, "NEW")


async def test_who_gives_way_to_an_own_order_is_said_only_if_it_is_known() -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        await client.place(ORDER, open_gate, self_trade="EXPIRE_TAKER")
        await client.place(ORDER, open_gate)

    assert [each.params.get("selfTradePreventionMode") for each in seen.requests] == ["EXPIRE_TAKER", None]


@pytest.mark.parametrize(
    ("quantity", "price", "written"),
    [
        ("1E-8", "1E+5", ("0.00000001", "100000")),
        ("0.00001000", "0.0000000100", ("0.00001", "0.00000001")),
        ("1.0E+3", "12345678901234567.12345678", ("1000", "12345678901234567.12345678")),
        ("100", "10", ("100", "10")),
    ],
)
async def test_numbers_leave_as_plain_decimals(quantity: str, price: str, written: tuple[str, str]) -> None:
    clock = FakeClock()
    order = replace(ORDER, quantity=Quantity(Decimal(quantity)), price=Price(Decimal(price)))
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        await client.try_out(order)

    assert (seen.requests[0].params["quantity"], seen.requests[0].params["price"]) == written


@pytest.mark.parametrize(
    "order",
    [
        of_kind("MARKET"), of_kind("STOP_LOSS_LIMIT"), of_kind("LIMIT", "60000"), replace(ORDER, trailing_bps=150),
        replace(of_kind("STOP_LOSS_LIMIT", "60000"), trailing_bps=150),
    ],
)  # fmt: skip
async def test_an_order_with_an_open_price_or_half_a_stop_never_leaves(order: WrittenOrder) -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        with pytest.raises(ValueError, match="never sent"):
            await client.place(order, open_gate)

    assert seen.connections == 0


@pytest.mark.parametrize(
    ("order_id", "named"), [(28, {"orderId": "28"}), (None, {"origClientOrderId": ORDER.client_order_id})]
)
async def test_a_cancel_names_the_order_by_the_exchanges_id_where_it_is_known(
    order_id: int | None, named: dict[str, str]
) -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.cancel(replace(TARGET, order_id=order_id), open_gate, cancel_id=CANCEL_ID)

    sent = {name: value for name, value in seen.requests[0].params.items() if name not in ("timestamp", "signature")}
    assert sent == {"symbol": "BTCUSDT", **named, "newClientOrderId": CANCEL_ID, "recvWindow": "60000"}
    assert outcome.order is not None
    assert (outcome.order.client_order_id, outcome.order.status) == (ORDER.client_order_id, "CANCELED")


async def test_a_cancel_that_names_another_order_of_the_exchange_is_unknown() -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.cancel(replace(TARGET, order_id=29), open_gate, cancel_id=CANCEL_ID)

    assert outcome.fate is Fate.UNKNOWN
    assert len(seen.requests) == 1


@pytest.mark.parametrize("status", ["NEW", "FILLED", "PARTIALLY_FILLED", "PENDING_CANCEL"])
async def test_a_cancel_that_does_not_say_cancelled_is_unknown(status: str) -> None:
    clock = FakeClock()
    script = partial(answered, status=status)
    async with serving(scripted(script, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.cancel(TARGET, open_gate, cancel_id=CANCEL_ID)

    assert outcome.fate is Fate.UNKNOWN


def answered(received: Received, **changed: object) -> bytes:
    return answer(200, success(received, **changed))


FILLS = [{"price": "61834.20", "qty": "0.004", "commission": "0", "commissionAsset": "BNB", "tradeId": 1}]


async def test_the_long_the_middle_and_the_short_answer_are_all_read() -> None:
    clock, body = FakeClock(), dict[str, object]()

    def script(received: Received) -> bytes:
        told = json.loads(success(received, executedQty="0.00400000", cummulativeQuoteQty="247.33680000", fills=FILLS))
        short = {name: told[name] for name in ("symbol", "orderId", "orderListId", "clientOrderId", "transactTime")}
        full = {**told, "status": "PARTIALLY_FILLED"}
        body.update({"ACK": short, "FULL": full, "RESULT": {each: full[each] for each in full if each != "fills"}})
        return answer(200, json.dumps(body[kinds.pop()]).encode())

    kinds, orders = ["ACK", "RESULT", "FULL"], list[Outcome]()
    async with serving(scripted(script, clock)) as seen, ordering(seen.url, clock=clock) as client:
        for _ in range(3):
            orders.append(await client.place(ORDER, open_gate))

    full, result, short = (each.order for each in orders)
    assert full == result
    assert full is not None
    assert short is not None
    assert (full.status, full.executed, full.quote_spent) == ("PARTIALLY_FILLED", Decimal("0.004"), Decimal("247.3368"))
    assert (full.created_ms, full.updated_ms, full.order_id) == (PLACED_MS, PLACED_MS, 28)
    assert short == replace(full, status="NEW", executed=Decimal(0), quote_spent=Decimal(0))


class Slow(HmacSigner):
    """Takes its time, as a connection may."""

    def __init__(self, clock: FakeClock, took_ms: float) -> None:
        super().__init__(SECRET)
        self.clock, self.took_ms = clock, took_ms

    def sign(self, payload: bytes) -> str:
        self.clock.advance(self.took_ms)
        return super().sign(payload)


@pytest.mark.parametrize(("took_ms", "fate"), [(1_000, Fate.ACCEPTED), (1_001, Fate.NOT_SENT)])
async def test_what_was_signed_too_long_ago_is_not_sent(took_ms: int, fate: Fate) -> None:
    clock, passed = FakeClock(), list[int]()

    async def gate() -> None:
        passed.append(1)

    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock, recv_window_ms=2_000) as made:
        client = replace(made, principal=Principal(made.principal.credentials, Slow(clock, took_ms)))
        outcome = await client.place(ORDER, gate)

    assert outcome.fate is fate
    assert len(seen.requests) == len(passed) == (fate is Fate.ACCEPTED)
    assert seen.connections == 1
    assert ("connecting took longer than 1 s" in outcome.reason) == (fate is Fate.NOT_SENT)


async def test_the_clock_is_read_before_the_gate_if_that_is_over_half_an_hour_ago() -> None:
    clock, order = FakeClock(), list[list[str]]()

    async def gate() -> None:
        order.append(seen.paths)

    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        await client.place(ORDER, gate)
        clock.advance(29 * 60_000)
        await client.place(ORDER, gate)
        clock.advance(2 * 60_000)
        await client.place(ORDER, gate)
        await client.cancel(TARGET, gate, cancel_id=CANCEL_ID)

    assert order[0] == []
    assert order[1] == ["POST order"]
    assert order[2] == ["POST order", "POST order", "GET time"]
    assert seen.paths[3:] == ["POST order", "DELETE order"]
