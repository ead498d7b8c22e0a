"""An order on paper in the stead of another, or a smaller one where it stands: in one step, or not at all."""

from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Amendment, Fate, Outcome, Replacement, Target, WrittenOrder
from trading.paper.bench import LATENCY_MS, START, SYMBOL, Bench, opened_bench
from trading.paper.listed import ABOVE, BELOW, oco, written

pytestmark = pytest.mark.anyio

OLD = Target(SYMBOL, "old")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        yield made


async def replaced(bench: Bench, order: WrittenOrder, target: Target = OLD) -> Outcome:
    return await bench.broker.place(Replacement(target, order), bench.gate)


async def amended(bench: Bench, quantity: int, target: Target = OLD) -> Outcome:
    return await bench.broker.place(Amendment(target, Quantity(Decimal(quantity))), bench.gate)


async def test_the_old_one_goes_and_the_new_one_has_its_money(bench: Bench) -> None:
    await bench.place("old", "BUY", 90, 10)

    outcome = await replaced(bench, written("new", "BUY", 95, 10))  # both at once could not be paid for

    assert outcome.fate == Fate.ACCEPTED
    assert outcome.order is not None
    assert outcome.target is not None
    assert (outcome.order.client_order_id, outcome.order.status) == ("new", "NEW")
    assert (outcome.target.client_order_id, outcome.target.status) == ("old", "CANCELED")
    assert (await bench.balances())["XY"] == (50, 950)


@pytest.mark.parametrize(("price", "words"), [(101, "the order is FILLED"), (None, "order not found")])
async def test_one_that_is_not_open_is_not_replaced_and_nothing_happens(
    bench: Bench, price: int | None, words: str
) -> None:
    if price is not None:
        await bench.place("old", "BUY", price)
    before = await bench.balances()

    outcome = await replaced(bench, written("new", "BUY", 90))

    assert (outcome.fate, outcome.order, outcome.target) == (Fate.REFUSED, None, None)
    assert words in outcome.reason
    assert await bench.broker.ask(SYMBOL, "new") is None
    assert await bench.balances() == before


async def test_one_that_cannot_be_paid_for_leaves_the_old_one_cancelled(bench: Bench) -> None:
    await bench.place("old", "BUY", 90)

    outcome = await replaced(bench, written("new", "BUY", 101, 10))

    assert (outcome.fate, outcome.order) == (Fate.REFUSED, None)
    assert "XY" in outcome.reason
    assert outcome.target is not None
    assert outcome.target.status == "CANCELED"
    assert await bench.broker.ask(SYMBOL, "new") is None
    assert await bench.free() == START


async def test_one_that_would_take_is_refused_when_it_arrives(bench: Bench) -> None:
    await bench.place("old", "BUY", 90)

    outcome = await replaced(bench, written("new", "BUY", 101, kind="LIMIT_MAKER"))

    assert (outcome.fate, outcome.order and outcome.order.status) == (Fate.REFUSED, "REJECTED")
    assert "immediately match" in outcome.reason
    assert outcome.target is not None
    assert outcome.target.status == "CANCELED"
    assert await bench.free() == START


async def test_the_same_replacement_sent_again_is_the_same(bench: Bench) -> None:
    await bench.place("old", "BUY", 90)
    first = await replaced(bench, written("new", "BUY", 91))

    assert await replaced(bench, written("new", "BUY", 91)) == first
    assert (await bench.balances())["XY"] == (818, 182)


async def test_a_part_of_the_old_one_that_is_filled_stays_filled(bench: Bench) -> None:
    await bench.place("old", "BUY", 99, 4)
    await bench.printed(98, 1, buys=False)

    outcome = await replaced(bench, written("new", "BUY", 90, 3))

    assert outcome.target is not None
    assert (outcome.target.status, outcome.target.executed) == ("CANCELED", 1)
    assert (await bench.balances())["XY"] == (1000 - 99 - 270, 270)


async def test_an_order_of_a_list_goes_with_its_list(bench: Bench) -> None:
    await bench.broker.place(oco(), bench.gate)

    outcome = await replaced(bench, written("new", "SELL", 106, 10), Target(SYMBOL, ABOVE))

    assert outcome.fate == Fate.ACCEPTED
    assert await bench.status(ABOVE, BELOW, "new") == ["CANCELED", "CANCELED", "NEW"]
    assert (await bench.balances())["AB"] == (0, 10)


async def test_a_smaller_one_keeps_its_id_and_its_place(bench: Bench) -> None:
    placed = await bench.place("old", "BUY", 99, 4)
    await bench.printed(99, 2, buys=False)  # five stood before it

    outcome = await amended(bench, 3)

    assert (outcome.fate, outcome.reason) == (Fate.ACCEPTED, "")
    assert outcome.order is not None
    assert placed.order is not None
    assert (outcome.order.order_id, outcome.order.quantity) == (placed.order.order_id, 3)
    assert (await bench.balances())["XY"] == (703, 297)
    await bench.printed(99, 4, buys=False)
    assert (await bench.row("old")).order.executed == 1
    await bench.printed(98, 9, buys=False)
    assert (await bench.row("old")).order.status == "FILLED"
    assert await bench.balances() == {"AB": (Decimal("12.997"), 0), "XY": (703, 0)}


@pytest.mark.parametrize("quantity", [1, 5])
async def test_one_that_would_grow_or_is_filled_as_far_stays_as_it_is(bench: Bench, quantity: int) -> None:
    await bench.place("old", "BUY", 99, 4)
    await bench.printed(98, 1, buys=False)
    before = await bench.row("old")

    outcome = await amended(bench, quantity)

    assert (outcome.fate, outcome.order) == (Fate.REFUSED, before.order)
    assert "below the old one" in outcome.reason
    smaller = await amended(bench, 2)
    assert smaller.fate == Fate.ACCEPTED
    assert await amended(bench, 2) == smaller  # sent again it is the same


async def test_one_that_is_over_unknown_or_of_a_list_is_not_made_smaller(bench: Bench) -> None:
    missing = await amended(bench, 1)
    await bench.place("old", "BUY", 101)
    filled = await amended(bench, 1)
    await bench.broker.place(oco(), bench.gate)
    listed = await amended(bench, 1, Target(SYMBOL, ABOVE))

    assert [each.fate for each in (missing, filled, listed)] == [Fate.REFUSED] * 3
    assert (missing.reason, filled.reason) == ("order not found", "the order is FILLED")
    assert "of a list" in listed.reason


async def test_one_that_became_smaller_on_its_way_arrives_as_such(bench: Bench) -> None:
    order = written("old", "BUY", 101, 6, force="FOK")
    await bench.exchange.accept("paper", order, await bench.broker.pair_of(SYMBOL))
    await bench.matcher.look()

    await amended(bench, 5)
    await bench.clock.sleep_ms(LATENCY_MS)

    assert await bench.status("old") == ["FILLED"]


@pytest.mark.parametrize(("traded", "executed"), [(1, 1), (3, 2)])
async def test_what_was_matched_before_the_matcher_heard_of_it_is_no_more_than_it_takes(
    bench: Bench, traded: int, executed: int
) -> None:
    await bench.place("old", "BUY", 99, 4)
    await amended(bench, 2)

    await bench.matcher.meet([bench.trade(98, traded, buys=False)], bench.clock.now_ms())

    row = await bench.row("old")
    assert (row.order.quantity, row.order.executed) == (2, executed)
    assert row.order.status == ("FILLED" if executed == 2 else "PARTIALLY_FILLED")
    assert (await bench.balances())["XY"] == (1000 - 198, 99 * (2 - executed))
    await bench.printed(98, 9, buys=False)
    assert (await bench.row("old")).order.executed == 2
    assert (await bench.balances())["XY"] == (802, 0)
