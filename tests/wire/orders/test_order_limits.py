"""What keeps an order back before anything is sent, and what never keeps a cancel back."""

from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from mcp_binance_server.domain.access import Credentials
from mcp_binance_server.domain.order_requests import Fate
from mcp_binance_server.domain.symbols import OrderLimit
from mcp_binance_server.errors import EngineUnavailable, ExchangeUnavailable, InvalidCredentials, RateLimited
from mcp_binance_server.exchange.budget import USED_WEIGHT
from mcp_binance_server.exchange.endpoints import TIME, Endpoint
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.signing import Principal
from mcp_binance_server.exchange.spot.endpoints import CANCEL_ORDER, PLACE_ORDER
from mcp_binance_server.exchange.spot.order_counts import OrderCounts, TooManyOrders
from mcp_binance_server.exchange.spot.orders import OrderClient
from mcp_binance_server.exchange.wire import ExchangeRefusal
from mcp_binance_server.state.engine import Grant, Reserves
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.order_socket import (
    CANCEL_ID,
    ORDER,
    SECRET,
    TARGET,
    Received,
    answer,
    ok,
    ordering,
    refusal,
    scripted,
    serving,
    success,
)

DAY_MS = 86_400_000


async def open_gate() -> None:
    return None


async def cancelled(client: OrderClient) -> Fate:
    return (await client.cancel(TARGET, open_gate, cancel_id=CANCEL_ID)).fate


async def test_a_ban_stops_everything_and_nothing_is_sent_again() -> None:
    clock = FakeClock()
    banned = refusal(418, -1003, "Way too many requests", "Retry-After: 90")
    async with serving(scripted(lambda _: banned, clock)) as seen, ordering(seen.url, clock=clock) as client:
        assert (await client.place(ORDER, open_gate)).fate is Fate.REFUSED
        for write in (client.place(ORDER, open_gate), client.cancel(TARGET, open_gate, cancel_id=CANCEL_ID)):
            with pytest.raises(RateLimited) as caught:
                await write
            assert caught.value.retry_after_secs == 90
        with pytest.raises(RateLimited):
            await client.caller.attempts.send(TIME, {})

    assert seen.paths == ["POST order"]


async def test_too_many_orders_keep_orders_back_but_neither_cancels_nor_reads() -> None:
    clock = FakeClock(1_784_592_120_000)
    many = refusal(429, -1015, "Too many new orders; current limit is 50 orders per 10 SECOND.")

    def script(received: Received) -> bytes:
        return many if received.method == "POST" else ok(received)

    async with serving(scripted(script, clock)) as seen, ordering(seen.url, clock=clock) as client:
        outcome = await client.place(ORDER, open_gate)
        with pytest.raises(TooManyOrders) as caught:
            await client.place(ORDER, open_gate)
        assert await cancelled(client) is Fate.ACCEPTED
        await client.caller.attempts.send(TIME, {})
        clock.advance(10_000)
        await client.place(ORDER, open_gate)

    assert (outcome.fate, outcome.code) == (Fate.REFUSED, -1015)
    assert caught.value.retry_after_secs == 10
    assert seen.paths == ["POST order", "DELETE order", "GET time", "POST order"]


async def test_a_wrong_clock_is_forgotten_and_the_order_is_not_sent_again() -> None:
    clock = FakeClock()
    late = refusal(400, -1021, "Timestamp for this request is outside of the recvWindow.")
    async with serving(scripted(lambda _: late, clock)) as seen, ordering(seen.url, clock=clock) as client:
        assert (await client.place(ORDER, open_gate)).fate is Fate.REFUSED
        assert seen.paths == ["POST order"]
        await client.place(ORDER, open_gate)

    assert seen.paths == ["POST order", "GET time", "POST order"]


async def test_a_clock_that_merely_agrees_with_a_header_is_read_before_an_order() -> None:
    clock = FakeClock()
    date = formatdate(clock.now_ms() / 1000, usegmt=True)
    opened = serving(scripted(ok, clock))
    async with opened as seen, ordering(seen.url, clock=clock, has_read_clock=False) as client:
        client.caller.time.glimpse(date)
        assert not client.caller.time.is_due  # good enough for a read
        assert (await client.place(ORDER, open_gate)).fate is Fate.ACCEPTED

    assert seen.paths == ["GET time", "POST order"]


async def test_where_the_clock_cannot_be_read_no_order_leaves_but_a_cancel_does() -> None:
    clock = FakeClock()

    def script(received: Received) -> bytes:
        return ok(received) if received.method != "GET" else answer(503, b"")

    async with serving(scripted(script)) as seen, ordering(seen.url, clock=clock) as client:
        clock.advance(31 * 60_000)
        with pytest.raises(ExchangeUnavailable, match="clock"):
            await client.place(ORDER, open_gate)
        assert await cancelled(client) is Fate.ACCEPTED

    assert [each for each in seen.paths if each != "GET time"] == ["DELETE order"]


async def test_a_host_whose_reads_fail_still_takes_a_cancel() -> None:
    clock = FakeClock()

    def script(received: Received) -> bytes:
        return ok(received) if received.method != "GET" else answer(503, b"")

    async with serving(scripted(script, clock)) as seen, ordering(seen.url, clock=clock) as client:
        attempts = client.caller.attempts
        for _ in range(3):
            with pytest.raises(Exception, match="503"):
                await attempts.send(Endpoint("ping", 1), {})
            clock.advance(200)
        assert attempts.hosts_down == 1
        with pytest.raises(ExchangeUnavailable):
            await attempts.send(TIME, {})
        assert await cancelled(client) is Fate.ACCEPTED
        assert attempts.hosts_down == 1

    assert seen.paths == [*["GET ping"] * 3, "DELETE order"]


class Away(MemoryEngine):
    """A state engine that does not answer."""

    async def acquire_weight(self, *_: object, **__: object) -> Grant:
        raise EngineUnavailable(operation="acquire_weight")


class Emptied(MemoryEngine):
    """A state engine that has forgotten the minute, for ever."""

    async def acquire_weight(self, *_: object, **__: object) -> Grant:
        return Grant(granted=False, reason="forgotten", used=0, retry_ms=0)


@pytest.mark.parametrize(("away", "error"), [(Away, EngineUnavailable), (Emptied, ExchangeUnavailable)])
async def test_without_a_count_no_order_leaves_but_a_cancel_does(
    away: type[MemoryEngine], error: type[Exception]
) -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        client.caller.budget.engine = away(clock, reserves=Reserves())
        with pytest.raises(error):
            await client.place(ORDER, open_gate)
        assert await cancelled(client) is Fate.ACCEPTED

    assert [each for each in seen.paths if each != "GET time"] == ["DELETE order"]


class Remembering(MemoryEngine):
    """A state engine that keeps what it was told of a minute it had forgotten."""

    recalled = 0

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:  # noqa: ARG002 - the protocol's
        self.recalled = used


async def test_what_has_been_answered_is_no_longer_under_way() -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        await client.place(ORDER, open_gate)
        await cancelled(client)
        budget, engine = client.caller.budget, Remembering(clock, reserves=Reserves())
        budget.engine = engine
        await budget.recall({USED_WEIGHT: "5", "date": formatdate(clock.now_ms() / 1000, usegmt=True)})

    assert engine.recalled == 5


async def test_a_fifth_of_the_weight_is_kept_for_orders() -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as client:
        budget = client.caller.budget
        budget.learn_limit(100)  # of which 90 are ours, and 18 kept for orders
        for _ in range(72):
            assert await budget.spend(replace(PRIVATE, may_queue=False))
        with pytest.raises(RateLimited):
            await budget.spend(replace(PRIVATE, may_queue=False))
        assert (await client.place(ORDER, open_gate)).fate is Fate.ACCEPTED
        assert await cancelled(client) is Fate.ACCEPTED

    assert seen.paths == ["POST order", "DELETE order"]


PRIVATE = Endpoint("account", 1, signed=True)


async def test_a_key_that_fits_in_no_header_is_refused_before_anything() -> None:
    clock = FakeClock()
    async with serving(scripted(ok, clock)) as seen, ordering(seen.url, clock=clock) as made:
        client = replace(made, principal=Principal.of(Credentials("key\nx-more: 1", SECRET)))
        with pytest.raises(InvalidCredentials):
            await client.place(ORDER, open_gate)

    assert seen.connections == 0


def counts(clock: FakeClock, *limits: OrderLimit) -> OrderCounts:
    return OrderCounts(ServerTime(clock), lambda: limits)


def test_half_of_each_limit_is_ours_until_its_span_is_over() -> None:
    clock = FakeClock(1_784_592_123_000)
    counted = counts(clock, OrderLimit(10_000, 50), OrderLimit(DAY_MS, 160_000))

    counted.settle({"X-MBX-ORDER-COUNT-10S": "24", "X-MBX-ORDER-COUNT-1D": "24"})
    counted.check()
    counted.sent()
    with pytest.raises(TooManyOrders) as caught:
        counted.check()
    clock.advance(6_999)
    with pytest.raises(TooManyOrders):
        counted.check()
    clock.advance(1)
    counted.check()

    assert (caught.value.orders_counted, caught.value.orders_allowed, caught.value.retry_after_secs) == (25, 25, 7)
    assert "25 of 25" in caught.value.message
    assert "Nothing was sent" in caught.value.message
    told = caught.value.data()
    assert told["error_type"] == "too_many_orders"
    assert not {"weight_limit", "current_weight"} & set(told)


@pytest.mark.parametrize(
    ("name", "span_ms"),
    [
        ("X-MBX-ORDER-COUNT-1S", 1_000),
        ("x-mbx-order-count-10s", 10_000),
        ("X-Mbx-Order-Count-1M", 60_000),
        ("X-MBX-ORDER-COUNT-3H", 3 * 3_600_000),
        ("X-MBX-ORDER-COUNT-1D", DAY_MS),
    ],
)
def test_every_span_that_a_header_names_is_counted(name: str, span_ms: int) -> None:
    counted = counts(FakeClock(), OrderLimit(span_ms, 10))

    counted.settle({name: "4"})
    counted.check()
    counted.settle({name: "5"})
    counted.settle({name: "1"})  # an answer may be overtaken

    with pytest.raises(TooManyOrders):
        counted.check()


@pytest.mark.parametrize("header", ["-10S", "-10X", "-0S", "-S", "-10S-more", "-99999S"])
@pytest.mark.parametrize("value", ["", "x", "-1", "9" * 30])
def test_a_header_that_makes_no_sense_counts_nothing(header: str, value: str) -> None:
    counted = counts(FakeClock(), OrderLimit(10_000, 2))

    counted.settle({f"X-MBX-ORDER-COUNT{header}": value})

    counted.check()


def test_the_smallest_published_limits_hold_until_the_exchange_has_told_its_own() -> None:
    counted = counts(FakeClock())

    for _ in range(25):
        counted.check()
        counted.sent()

    with pytest.raises(TooManyOrders):
        counted.check()


async def test_an_order_is_counted_by_its_answer_and_without_one() -> None:
    clock = FakeClock(1_784_592_120_000)
    told: list[Any] = [24]

    def script(received: Received) -> bytes:
        return answer(200, success(received), f"X-MBX-ORDER-COUNT-10S: {told[0]}")

    async with serving(scripted(script, clock)) as seen, ordering(seen.url, clock=clock) as client:
        await client.place(ORDER, open_gate)
        await client.try_out(ORDER)
        await client.place(ORDER, open_gate)
        with pytest.raises(TooManyOrders):
            await client.place(ORDER, open_gate)

    assert len(seen.requests) == 3


def test_orders_and_cancels_spend_what_is_kept_for_them() -> None:
    assert {PLACE_ORDER.kind, CANCEL_ORDER.kind} == {"order"}
    assert (PLACE_ORDER.weight, CANCEL_ORDER.weight) == (1, 1)


@pytest.mark.parametrize(
    ("asked", "retry_after_secs"), [((60, None), 60), ((None, 60), 60), ((None,), 7), ((0,), 0), ((99_999,), 600)]
)
def test_the_longest_wait_that_the_exchange_asked_for_holds(
    asked: tuple[int | None, ...], retry_after_secs: int
) -> None:
    counted = counts(FakeClock(1_784_592_123_000))

    for secs in asked:
        counted.close(ExchangeRefusal(429, -1015, "Too many new orders.", secs))

    if not retry_after_secs:
        counted.check()
        return
    with pytest.raises(TooManyOrders) as caught:
        counted.check()
    assert caught.value.retry_after_secs == retry_after_secs
    assert "reached Binance's order limit" in caught.value.message
