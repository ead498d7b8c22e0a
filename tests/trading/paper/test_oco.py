"""Two orders on paper of which one ends the other: taken together, paid for once, never both filled."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.order_requests import Fate, Side, Target, WrittenList
from mcp_binance_server.trading.paper.lists import OTHER_FIRST, WOULD_TAKE
from mcp_binance_server.trading.paper.matcher import NOT_WATCHED
from trading.paper.bench import START, SYMBOL, Bench, opened_bench
from trading.paper.listed import ABOVE, BELOW, LIST, oco, written

pytestmark = pytest.mark.anyio


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.printed(100, 1, buys=True)
        yield made


async def test_both_are_told_in_the_order_in_which_they_were_written(bench: Bench) -> None:
    outcome = await bench.broker.place(oco(), bench.gate)

    assert (outcome.fate, outcome.order, outcome.reason) == (Fate.ACCEPTED, None, "")
    assert [(each.client_order_id, each.status) for each in outcome.legs] == [(ABOVE, "NEW"), (BELOW, "NEW")]
    assert await bench.broker.ask(SYMBOL, BELOW) == outcome.legs[1]
    assert await bench.broker.open_orders() == outcome.legs
    assert bench.gates == [0]


@pytest.mark.parametrize(("side", "held"), [("SELL", {"AB": (8, 2), "XY": (1000, 0)}), ("BUY", {"XY": (788, 212)})])
async def test_what_only_one_of_them_can_need_is_held_once(
    bench: Bench, side: Side, held: dict[str, tuple[int, int]]
) -> None:
    await bench.broker.place(oco(side), bench.gate)

    assert (await bench.balances()) | held == await bench.balances()


async def test_a_list_that_cannot_be_paid_for_is_refused_as_one(bench: Bench) -> None:
    outcome = await bench.broker.place(oco("SELL", 11), bench.gate)

    assert (outcome.fate, outcome.legs) == (Fate.REFUSED, ())
    assert "AB" in outcome.reason
    assert [await bench.broker.ask(SYMBOL, each) for each in (ABOVE, BELOW)] == [None, None]
    assert await bench.free() == START


@pytest.mark.parametrize("side", ["SELL", "BUY"])
@pytest.mark.parametrize(
    ("above", "below", "words"),
    [
        (101, 99, ""),
        (100, 95, "must be above the last price, 100"),
        (105, 100, "must be below the last price, 100"),
    ],
)
async def test_they_lie_on_both_sides_of_the_last_price(
    bench: Bench, side: Side, above: int, below: int, words: str
) -> None:
    for touched in (99, 101):
        bench.book.show("BUY" if touched < 100 else "SELL", touched, 0)  # only the last price is in the way

    outcome = await bench.broker.place(oco(side, 2, above, below), bench.gate)

    assert words in outcome.reason
    status, fate = ("REJECTED", Fate.REFUSED) if words else ("NEW", Fate.ACCEPTED)
    assert (outcome.fate, {each.status for each in outcome.legs}) == (fate, {status})
    assert (await bench.free() == START) == bool(words)


async def test_one_that_would_take_refuses_the_other_too(bench: Bench) -> None:
    bench.book.show("BUY", 103, 1)

    outcome = await bench.broker.place(oco("SELL", 2, 102), bench.gate)

    assert (outcome.fate, outcome.reason) == (Fate.REFUSED, WOULD_TAKE)
    assert [each.status for each in outcome.legs] == ["REJECTED", "REJECTED"]
    assert await bench.free() == START


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"shape": "OTOCO"}, "OTOCO needs 2 exit orders, not 1"),
        ({"orders": oco("SELL", 2, 95, 95).orders}, "the upper order must be above the lower one"),
        ({"orders": (oco().orders[0], replace(oco().orders[1], side="BUY"))}, "the same side and quantity"),
        ({"orders": (oco().orders[0], replace(oco().orders[1], quantity=Decimal(1)))}, "the same side and quantity"),
        ({"orders": (oco().orders[0], replace(oco().orders[1], symbol="OTHER"))}, "the same symbol"),
        ({"orders": (oco().orders[0], replace(oco().orders[1], client_order_id=ABOVE))}, "its own ID"),
        ({"orders": (oco().orders[0], replace(oco().orders[1], time_in_force="IOC"))}, "GTC stops"),
        ({"orders": (replace(oco().orders[0], kind="LIMIT"), oco().orders[1])}, "must be LIMIT_MAKER or GTC"),
    ],
)
async def test_what_is_no_such_list_is_refused_in_words(bench: Bench, change: dict[str, object], words: str) -> None:
    made: WrittenList = replace(oco(), **change)

    outcome = await bench.broker.place(made, bench.gate)

    assert (outcome.fate, outcome.legs) == (Fate.REFUSED, ())
    assert words in outcome.reason
    assert await bench.broker.open_orders() == ()


@pytest.mark.parametrize(
    ("side", "price", "filled", "ended"),
    [("SELL", 106, ABOVE, BELOW), ("BUY", 94, BELOW, ABOVE)],
)
async def test_a_part_of_one_ends_the_other_and_the_rest_of_it_goes_on(
    bench: Bench, side: Side, price: int, filled: str, ended: str
) -> None:
    await bench.broker.place(oco(side, 4), bench.gate)

    await bench.printed(price, 1, buys=side == "SELL")

    assert await bench.status(filled, ended) == ["PARTIALLY_FILLED", "EXPIRED"]
    assert (await bench.row(ended)).reason == OTHER_FIRST
    held = {"AB": (6, 3)} if side == "SELL" else {"XY": (1000 - 4 * 95, 3 * 95)}
    assert await bench.balances() == await bench.balances() | held

    await bench.printed(price, 9, buys=side == "SELL")
    assert await bench.status(filled, ended) == ["FILLED", "EXPIRED"]
    assert {locked for _, locked in (await bench.balances()).values()} == {0}


@pytest.mark.parametrize(
    ("side", "prices", "triggered", "ended"), [("SELL", (96, 95), BELOW, ABOVE), ("BUY", (104, 105), ABOVE, BELOW)]
)
async def test_a_stop_that_is_triggered_ends_the_other_before_it_is_filled(
    bench: Bench, side: Side, prices: tuple[int, int], triggered: str, ended: str
) -> None:
    quiet, loud = prices
    for each in ("BUY", "SELL"):
        bench.book.levels[each].clear()  # nothing to take: the limit waits
    await bench.broker.place(oco(side), bench.gate)

    await bench.printed(quiet, 1, buys=side == "BUY")
    assert await bench.status(triggered, ended) == ["NEW", "NEW"]
    await bench.printed(loud, 1, buys=side == "BUY")

    assert await bench.status(triggered, ended) == ["NEW", "EXPIRED"]
    assert (await bench.row(triggered)).is_triggered
    await bench.printed(110 if side == "SELL" else 90, buys=side == "SELL")
    assert await bench.status(triggered, ended) == ["FILLED", "EXPIRED"]


async def test_one_print_fills_one_of_them_at_most(bench: Bench) -> None:
    await bench.broker.place(oco("SELL", 4), bench.gate)

    await bench.met(*(bench.trade(price, 3, buys=price > 100) for price in (106, 94, 90, 106)))

    assert await bench.status(ABOVE, BELOW) == ["FILLED", "EXPIRED"]
    assert [int(each.quantity) for each in await bench.exchange.fills("paper", SYMBOL, 9)] == [3, 1]


@pytest.mark.parametrize("name", [ABOVE, BELOW, LIST])
async def test_a_cancel_of_one_is_a_cancel_of_both(bench: Bench, name: str) -> None:
    await bench.broker.place(oco(), bench.gate)

    target = Target(SYMBOL, name, is_list=name == LIST)
    outcome = await bench.broker.cancel(target, bench.gate)
    again = await bench.broker.cancel(target, bench.gate)

    assert outcome.fate == Fate.ACCEPTED
    assert outcome == again
    told = outcome.legs if name == LIST else (outcome.order,)
    assert [each and each.status for each in told] == ["CANCELED"] * len(told)
    assert len(told) == (2 if name == LIST else 1)
    assert await bench.status(ABOVE, BELOW) == ["CANCELED", "CANCELED"]
    assert await bench.free() == START
    await bench.printed(106, buys=True)
    assert await bench.exchange.fills("paper", SYMBOL, 9) == []


async def test_a_list_that_is_over_or_unknown_is_not_cancelled(bench: Bench) -> None:
    target = Target(SYMBOL, LIST, is_list=True)
    missing = await bench.broker.cancel(target, bench.gate)
    await bench.broker.place(oco(), bench.gate)
    await bench.printed(106, buys=True)

    outcome = await bench.broker.cancel(target, bench.gate)

    assert (missing.fate, missing.reason) == (Fate.REFUSED, "list not found")
    assert (outcome.fate, outcome.reason) == (Fate.REFUSED, "every order of the list is closed")
    assert [each.status for each in outcome.legs] == ["FILLED", "EXPIRED"]


async def test_a_cancel_that_was_first_holds_against_either(bench: Bench) -> None:
    await bench.broker.place(oco(), bench.gate)
    await bench.broker.cancel(Target(SYMBOL, ABOVE), bench.gate)

    await bench.matcher.meet([bench.trade(106, buys=True)], bench.clock.now_ms())  # it has not heard of the cancel

    assert await bench.status(ABOVE, BELOW) == ["CANCELED", "CANCELED"]
    assert await bench.free() == START


async def test_the_same_list_sent_again_is_the_same_list(bench: Bench) -> None:
    first = await bench.broker.place(oco(), bench.gate)
    again = await bench.broker.place(oco(), bench.gate)

    assert first == again
    assert (await bench.balances())["AB"] == (8, 2)


async def test_without_a_market_both_wait_and_are_placed_later(bench: Bench) -> None:
    matcher, bench.clock.matcher = bench.clock.matcher, None

    outcome = await bench.broker.place(oco(), bench.gate)

    assert (outcome.fate, [each.status for each in outcome.legs]) == (Fate.ACCEPTED, ["PENDING_NEW", "PENDING_NEW"])
    assert "not ready yet" in outcome.reason
    bench.clock.matcher = matcher
    await bench.clock.sleep_ms(1)
    assert await bench.status(ABOVE, BELOW) == ["NEW", "NEW"]


async def test_who_takes_over_knows_that_they_are_of_one_list(bench: Bench) -> None:
    await bench.broker.place(oco(), bench.gate)
    await bench.open_market()

    await bench.matcher.load()
    await bench.printed(106, 1, buys=True, is_replay=True)

    assert await bench.status(ABOVE, BELOW) == ["PARTIALLY_FILLED", "EXPIRED"]


async def test_a_stop_that_nobody_watched_says_so_and_so_does_the_other(bench: Bench) -> None:
    await bench.broker.place(oco(), bench.gate)

    await bench.matcher.expire_unwatched(bench.trade(90, buys=False), bench.clock.now_ms())

    rows = [await bench.row(each) for each in (ABOVE, BELOW)]
    assert [(row.order.status, row.reason) for row in rows] == [("EXPIRED", NOT_WATCHED)] * 2
    assert await bench.free() == START


async def test_a_list_does_not_end_orders_beside_it(bench: Bench) -> None:
    await bench.broker.place(oco(), bench.gate)
    await bench.broker.place(written("x", "SELL", 105, 1), bench.gate)

    await bench.printed(106, 1, buys=True)
    await bench.broker.cancel(Target(SYMBOL, "l", is_list=True), bench.gate)

    assert await bench.status(ABOVE, BELOW, "x") == ["CANCELED", "EXPIRED", "NEW"]
    assert (await bench.balances())["AB"] == (8, 1)
