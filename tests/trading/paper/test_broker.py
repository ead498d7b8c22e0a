"""The broker of an account on paper: each fate an order can have, and what is said of it."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from mcp_binance_server.domain.money import Price, Quantity
from mcp_binance_server.domain.order_requests import Fate, Kind, Outcome, Side, Target, TimeInForce, WrittenOrder
from mcp_binance_server.trading.paper.broker import PATIENCE_MS
from trading.paper.bench import LATENCY_MS, PAIR, START, SYMBOL, Bench, opened_bench

pytestmark = pytest.mark.anyio


class Stopped(Exception):
    """The gate said no."""


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        yield made


def told(outcome: Outcome) -> tuple[Fate, str | None, Decimal | None]:
    order = outcome.order
    return outcome.fate, order and order.status, order and order.executed


async def test_an_order_that_takes_is_answered_filled_after_its_latency(bench: Bench) -> None:
    began_ms = bench.clock.now_ms()

    outcome = await bench.place("a", "BUY", 101)

    assert told(outcome) == (Fate.ACCEPTED, "FILLED", 2)
    assert bench.clock.met_ms == [began_ms + LATENCY_MS]
    assert bench.gates == [0]  # nothing was taken before the gate
    assert bench.woken == 1


async def test_a_gate_that_refuses_leaves_nothing(bench: Bench) -> None:
    async def refuse() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        await bench.broker.place(
            WrittenOrder("a", SYMBOL, "BUY", "LIMIT", "GTC", Quantity(Decimal(1)), Price(Decimal(90))), refuse
        )

    assert await bench.broker.ask(SYMBOL, "a") is None
    assert await bench.free() == START


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("BUY", 99, "LIMIT", "GTC"), (Fate.ACCEPTED, "NEW", 0)),
        (("BUY", 101, "LIMIT_MAKER", "GTC"), (Fate.REFUSED, "REJECTED", 0)),
        (("BUY", 100, "LIMIT_MAKER", "GTC"), (Fate.ACCEPTED, "NEW", 0)),
        (("BUY", 101, "LIMIT", "IOC"), (Fate.ACCEPTED, "EXPIRED", 5)),
        (("BUY", 100, "LIMIT", "IOC"), (Fate.ACCEPTED, "EXPIRED", 0)),
        (("BUY", 101, "LIMIT", "FOK"), (Fate.ACCEPTED, "EXPIRED", 0)),
        (("BUY", 102, "LIMIT", "FOK"), (Fate.ACCEPTED, "FILLED", 7)),
        (("SELL", 99, "LIMIT", "GTC"), (Fate.ACCEPTED, "PARTIALLY_FILLED", 5)),
    ],
)
async def test_each_kind_has_the_fate_that_the_exchange_gives_it(
    bench: Bench, given: tuple[Side, int, Kind, TimeInForce], expected: tuple[Fate, str, int]
) -> None:
    side, price, kind, force = given
    outcome = await bench.place("a", side, price, 7, kind=kind, force=force)

    assert told(outcome) == expected
    status = expected[1]
    asked = await bench.broker.ask(SYMBOL, "a")
    assert asked == outcome.order
    is_open = status in ("NEW", "PARTIALLY_FILLED")
    assert [each.client_order_id for each in await bench.broker.open_orders()] == (["a"] if is_open else [])


async def test_what_would_match_at_once_is_refused_in_words_and_holds_nothing(bench: Bench) -> None:
    outcome = await bench.place("a", "BUY", 101, kind="LIMIT_MAKER")

    assert "immediately match" in outcome.reason
    assert await bench.free() == START


async def test_what_is_not_in_the_account_is_refused_and_is_no_order(bench: Bench) -> None:
    outcome = await bench.place("a", "BUY", 101, 10)

    assert told(outcome) == (Fate.REFUSED, None, None)
    assert "XY" in outcome.reason
    assert await bench.broker.ask(SYMBOL, "a") is None
    assert await bench.free() == START


async def test_the_same_order_sent_again_is_the_same_order(bench: Bench) -> None:
    first = await bench.place("a", "BUY", 90)
    again = await bench.place("a", "BUY", 90)

    assert first == again
    assert await bench.free() == {"XY": 820, "AB": 10}


async def test_an_order_that_meets_ones_own_says_so(bench: Bench) -> None:
    await bench.place("a", "SELL", 101, 1)
    bench.book.show("SELL", 101, 0)

    outcome = await bench.place("b", "BUY", 101, 1)

    assert told(outcome) == (Fate.ACCEPTED, "EXPIRED_IN_MATCH", 0)
    assert "your own" in outcome.reason


async def test_without_a_market_it_waits_in_words_and_is_filled_later(bench: Bench) -> None:
    matcher, bench.clock.matcher = bench.clock.matcher, None
    began_ms = bench.clock.now_ms()

    outcome = await bench.place("a", "BUY", 101)

    assert told(outcome) == (Fate.ACCEPTED, "PENDING_NEW", 0)
    assert "not ready yet" in outcome.reason
    assert bench.clock.now_ms() - began_ms >= LATENCY_MS + PATIENCE_MS
    bench.clock.matcher = matcher
    await bench.clock.sleep_ms(1)
    filled = await bench.broker.ask(SYMBOL, "a")
    assert filled is not None
    assert filled.status == "FILLED"


@pytest.mark.parametrize("price", [90, 101])
async def test_a_cancel_is_answered_by_what_stands_in_the_file(bench: Bench, price: int) -> None:
    await bench.place("a", "BUY", price)
    is_open = price == 90

    outcome = await bench.broker.cancel(Target(SYMBOL, "a"), bench.gate)
    again = await bench.broker.cancel(Target(SYMBOL, "a"), bench.gate)

    status = "CANCELED" if is_open else "FILLED"
    assert told(outcome) == (Fate.ACCEPTED if is_open else Fate.REFUSED, status, 0 if is_open else 2)
    assert again.order == outcome.order
    assert again.reason == ("" if is_open else "the order is FILLED")
    assert bench.woken == 3


async def test_a_cancel_of_nothing_is_refused(bench: Bench) -> None:
    outcome = await bench.broker.cancel(Target(SYMBOL, "a"), bench.gate)

    assert told(outcome) == (Fate.REFUSED, None, None)


@pytest.mark.slow
async def test_ten_at_once_are_ten_orders(bench: Bench) -> None:
    outcomes: list[Outcome] = []

    async def place(number: int) -> None:
        outcomes.append(await bench.place(f"o{number}", "BUY", 90, 1))

    bench.clock.matcher = None
    async with anyio.create_task_group() as tasks:
        for number in range(10):
            tasks.start_soon(place, number)

    assert len({each.order.order_id for each in outcomes if each.order}) == 10
    assert (await bench.free())["XY"] == 100


async def test_a_reset_begins_anew_and_keeps_the_past(bench: Bench) -> None:
    await bench.place("done", "BUY", 101)
    await bench.place("open", "BUY", 90)
    other = await bench.exchange.accept(
        "other", WrittenOrder("x", SYMBOL, "BUY", "LIMIT", "GTC", Quantity(Decimal(1)), Price(Decimal(90))), PAIR
    )

    assert await bench.exchange.reset("paper") == 1

    assert await bench.free() == START
    assert await bench.broker.open_orders() == ()
    kept = await bench.exchange.orders("paper", SYMBOL, 9)
    assert [(each.order.client_order_id, each.order.status, each.reason) for each in kept] == [
        ("done", "FILLED", ""),
        ("open", "CANCELED", "reset"),
    ]
    assert len(await bench.exchange.fills("paper", SYMBOL, 9)) == 1
    assert await bench.exchange.open_orders("other") == [other]
    assert told(await bench.place("new", "BUY", 101)) == (Fate.ACCEPTED, "FILLED", 2)
