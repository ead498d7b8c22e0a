"""Lists on paper that begin with an entry: exits start when all of it is filled, and never without it."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from mcp_binance_server.domain.money import Quantity
from mcp_binance_server.domain.order_requests import Fate, ListShape, Target, TimeInForce
from mcp_binance_server.trading.paper.lists import NO_ENTRY, TOO_LITTLE
from mcp_binance_server.trading.paper.matcher import NOT_WATCHED
from trading.paper.bench import LATENCY_MS, START, SYMBOL, Bench, opened_bench
from trading.paper.listed import ABOVE, BELOW, ENTRY, LIST, entered, written

pytestmark = pytest.mark.anyio

SHAPES: list[ListShape] = ["OTO", "OTOCO", "OPO", "OPOCO"]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.printed(100, 1, buys=True)
        yield made


async def reasons(bench: Bench, *names: str) -> list[tuple[str, str]]:
    rows = [await bench.row(each) for each in names]
    return [(row.order.status, row.reason) for row in rows]


@pytest.mark.parametrize("shape", SHAPES)
async def test_exits_wait_for_the_entry_and_hold_nothing(bench: Bench, shape: ListShape) -> None:
    began_ms = bench.clock.now_ms()

    outcome = await bench.broker.place(entered(shape), bench.gate)

    exits = len(outcome.legs) - 1
    assert bench.clock.now_ms() == began_ms + LATENCY_MS  # the answer does not wait for the exits
    assert (outcome.fate, outcome.order, outcome.reason) == (Fate.ACCEPTED, None, "")
    assert [each.status for each in outcome.legs] == ["NEW"] + ["PENDING_NEW"] * exits
    assert await bench.broker.open_orders() == outcome.legs
    assert await bench.balances() == {"AB": (10, 0), "XY": (802, 198)}
    await bench.printed(106, buys=True)
    await bench.printed(94, 5, buys=True)  # on the other side of the tape: not for the entry, and below the stop
    assert await bench.status(BELOW) == ["PENDING_NEW"]


@pytest.mark.parametrize("shape", SHAPES)
async def test_exits_start_when_all_of_the_entry_is_filled_and_not_before(bench: Bench, shape: ListShape) -> None:
    outcome = await bench.broker.place(entered(shape), bench.gate)
    exits = [each.client_order_id for each in outcome.legs[1:]]

    await bench.printed(98, 1, buys=False)
    assert await bench.status(ENTRY, *exits) == ["PARTIALLY_FILLED"] + ["PENDING_NEW"] * len(exits)
    is_set_aside = shape.startswith("OPO")
    assert (await bench.balances())["AB"] == ((10, Decimal("0.999")) if is_set_aside else (Decimal("10.999"), 0))

    await bench.printed(98, 1, buys=False)
    assert await bench.status(ENTRY, *exits) == ["FILLED"] + ["NEW"] * len(exits)
    sold = 1 if shape.startswith("OPO") else 2
    assert {(await bench.row(each)).order.quantity for each in exits} == {sold}
    assert (await bench.balances())["AB"] == (Decimal("11.998") - sold, sold)


async def test_an_entry_that_takes_at_once_starts_them_at_once(bench: Bench) -> None:
    outcome = await bench.broker.place(entered("OTOCO", written(ENTRY, "BUY", 101)), bench.gate)

    assert [each.status for each in outcome.legs] == ["FILLED", "NEW", "NEW"]
    await bench.printed(106, buys=True)
    assert await bench.status(ABOVE, BELOW) == ["FILLED", "EXPIRED"]
    assert await bench.balances() == {"AB": (Decimal("9.998"), 0), "XY": (1000 - 202 + 210 * Decimal("0.999"), 0)}


async def test_an_entry_that_sells_has_exits_that_buy(bench: Bench) -> None:
    await bench.broker.place(entered("OTOCO", written(ENTRY, "SELL", 101)), bench.gate)
    await bench.printed(102, buys=True)
    assert await bench.status(ENTRY, ABOVE, BELOW) == ["FILLED", "NEW", "NEW"]
    assert (await bench.balances())["XY"] == (1000 + 202 * Decimal("0.999") - 212, 212)  # the dearer of the two

    await bench.printed(94, buys=False)

    assert await bench.status(ABOVE, BELOW) == ["EXPIRED", "FILLED"]
    assert (await bench.balances())["XY"] == (1000 + 202 * Decimal("0.999") - 190, 0)


async def test_the_prints_that_follow_in_the_same_turn_meet_the_exits(bench: Bench) -> None:
    await bench.broker.place(entered("OTOCO"), bench.gate)

    await bench.met(bench.trade(98, buys=False), bench.trade(106, 1, buys=True), bench.trade(94, buys=False))

    assert await bench.status(ENTRY, ABOVE, BELOW) == ["FILLED", "PARTIALLY_FILLED", "EXPIRED"]
    fills = await bench.exchange.fills("paper", SYMBOL, 9)
    assert [(each.price, each.quantity) for each in fills] == [(99, 2), (105, 1)]


async def test_the_print_that_fills_the_entry_is_not_for_an_exit(bench: Bench) -> None:
    await bench.broker.place(entered("OTOCO", quantity=2, below=97), bench.gate)

    await bench.printed(98, buys=False)

    assert await bench.status(ENTRY, ABOVE, BELOW) == ["FILLED", "NEW", "NEW"]


@pytest.mark.parametrize("name", [ENTRY, BELOW, LIST])
@pytest.mark.parametrize("executed", [0, 1])
async def test_who_cancels_an_entry_has_no_exits_and_keeps_what_was_filled(
    bench: Bench, name: str, executed: int
) -> None:
    await bench.broker.place(entered("OTO"), bench.gate)
    if executed:
        await bench.printed(98, executed, buys=False)

    outcome = await bench.broker.cancel(Target(SYMBOL, name, is_list=name == LIST), bench.gate)

    assert outcome.fate == Fate.ACCEPTED
    assert await bench.status(ENTRY, BELOW) == ["CANCELED", "EXPIRED" if name == ENTRY else "CANCELED"]
    assert await bench.balances() == {
        "AB": (10 + executed * Decimal("0.999"), 0),
        "XY": (1000 - 99 * executed, 0),
    }


async def test_exits_can_be_cancelled_and_a_filled_entry_cannot(bench: Bench) -> None:
    await bench.broker.place(entered("OTOCO", written(ENTRY, "BUY", 101)), bench.gate)

    entry = await bench.broker.cancel(Target(SYMBOL, ENTRY), bench.gate)
    assert (entry.fate, entry.reason) == (Fate.REFUSED, "the order is FILLED")
    assert await bench.status(ABOVE, BELOW) == ["NEW", "NEW"]

    outcome = await bench.broker.cancel(Target(SYMBOL, LIST, is_list=True), bench.gate)
    assert outcome.fate == Fate.ACCEPTED
    assert [each.status for each in outcome.legs] == ["FILLED", "CANCELED", "CANCELED"]
    assert {locked for _, locked in (await bench.balances()).values()} == {0}


@pytest.mark.parametrize(("force", "quantity", "executed"), [("IOC", 7, 5), ("FOK", 7, 0)])
async def test_an_entry_that_expires_takes_its_exits_with_it(
    bench: Bench, force: TimeInForce, quantity: int, executed: int
) -> None:
    entry = written(ENTRY, "BUY", 101, quantity, force=force)

    outcome = await bench.broker.place(entered("OTOCO", entry, quantity=quantity), bench.gate)

    assert (outcome.fate, outcome.legs[0].executed) == (Fate.ACCEPTED, executed)
    assert await reasons(bench, ENTRY, ABOVE, BELOW) == [("EXPIRED", "")] + [("EXPIRED", NO_ENTRY)] * 2
    assert (await bench.balances())["AB"] == (10 + executed * Decimal("0.999"), 0)


async def test_an_entry_that_is_refused_refuses_the_list(bench: Bench) -> None:
    outcome = await bench.broker.place(entered("OTO", written(ENTRY, "BUY", 101, kind="LIMIT_MAKER")), bench.gate)

    assert (outcome.fate, [each.status for each in outcome.legs]) == (Fate.REFUSED, ["REJECTED", "REJECTED"])
    assert "immediately match" in outcome.reason
    assert await bench.free() == START


async def test_an_exit_that_sells_more_than_there_is_expires_in_words(bench: Bench) -> None:
    await bench.broker.place(written("all", "SELL", 120, 10), bench.gate)
    await bench.broker.place(entered("OTOCO"), bench.gate)

    await bench.printed(98, buys=False)  # it brings 1.998, and the exits are of 2

    (entry, _), *exits = await reasons(bench, ENTRY, ABOVE, BELOW)
    assert entry == "FILLED"
    assert {status for status, _ in exits} == {"EXPIRED"}
    assert all("AB" in reason and "1.998" in reason for _, reason in exits)
    assert await bench.balances() == {"AB": (Decimal("1.998"), 10), "XY": (802, 0)}
    assert not [each for each in await bench.broker.open_orders() if each.client_order_id != "all"]


async def test_exits_that_end_at_once_are_told_in_the_answer(bench: Bench) -> None:
    await bench.broker.place(written("all", "SELL", 120, 10), bench.gate)

    outcome = await bench.broker.place(entered("OTO", written(ENTRY, "BUY", 101)), bench.gate)

    assert (outcome.fate, [each.status for each in outcome.legs]) == (Fate.ACCEPTED, ["FILLED", "EXPIRED"])
    assert "AB" in outcome.reason


async def test_where_exits_pay_with_what_was_received_they_need_nothing_else(bench: Bench) -> None:
    bench.matcher.step = Quantity(Decimal("0.01"))
    await bench.broker.place(written("all", "SELL", 120, 10), bench.gate)
    await bench.broker.place(entered("OPOCO"), bench.gate)

    await bench.printed(98, buys=False)

    assert await bench.status(ENTRY, ABOVE, BELOW) == ["FILLED", "NEW", "NEW"]
    assert (await bench.balances())["AB"] == (Decimal("0.008"), Decimal("11.99"))
    await bench.printed(106, buys=True)
    assert (await bench.row(ABOVE)).order.executed == Decimal("1.99")


async def test_what_is_less_than_a_step_is_not_sold(bench: Bench) -> None:
    await bench.broker.place(entered("OPO", quantity=1), bench.gate)

    await bench.printed(98, buys=False)

    assert await reasons(bench, ENTRY, BELOW) == [("FILLED", ""), ("EXPIRED", TOO_LITTLE)]
    assert (await bench.balances())["AB"] == (Decimal("10.999"), 0)


async def test_what_exits_are_paid_with_cannot_be_sold_meanwhile(bench: Bench) -> None:
    await bench.broker.place(entered("OPO"), bench.gate)
    await bench.printed(98, 1, buys=False)

    refused = await bench.broker.place(written("x", "SELL", 120, "10.5"), bench.gate)
    taken = await bench.broker.place(written("y", "SELL", 120, 10), bench.gate)

    assert (refused.fate, taken.fate) == (Fate.REFUSED, Fate.ACCEPTED)
    await bench.printed(98, 1, buys=False)
    assert await bench.status(ENTRY, BELOW) == ["FILLED", "NEW"]
    assert (await bench.balances())["AB"] == (Decimal("0.998"), 11)


@pytest.mark.parametrize("name", [ENTRY, BELOW, LIST])
async def test_what_was_set_aside_is_free_again_without_the_entry(bench: Bench, name: str) -> None:
    await bench.broker.place(entered("OPOCO"), bench.gate)
    await bench.printed(98, 1, buys=False)

    await bench.broker.cancel(Target(SYMBOL, name, is_list=name == LIST), bench.gate)

    assert await bench.balances() == {"AB": (Decimal("10.999"), 0), "XY": (901, 0)}


async def test_it_is_free_again_if_nobody_watched_the_entry(bench: Bench) -> None:
    await bench.broker.place(entered("OPOCO"), bench.gate)
    await bench.printed(98, 1, buys=False)

    await bench.matcher.expire_unwatched(bench.trade(90, buys=False), bench.clock.now_ms())

    assert await bench.balances() == {"AB": (Decimal("10.999"), 0), "XY": (901, 0)}


async def test_only_an_entry_that_buys_pays_for_its_exits(bench: Bench) -> None:
    outcome = await bench.broker.place(entered("OPOCO", written(ENTRY, "SELL", 101)), bench.gate)

    assert (outcome.fate, outcome.reason) == (Fate.REFUSED, "an entry that pays for its exits must be BUY")


@pytest.mark.parametrize(("price", "words"), [(94, "95 must be below the last price, 94"), (98, "")])
async def test_a_stop_that_the_market_has_passed_cannot_start(bench: Bench, price: int, words: str) -> None:
    await bench.broker.place(entered("OTOCO"), bench.gate)

    await bench.printed(price, buys=False)

    expected = ("EXPIRED", words) if words else ("NEW", "")
    assert await reasons(bench, ENTRY, ABOVE, BELOW) == [("FILLED", ""), expected, expected]
    assert (await bench.balances())["AB"] == ((Decimal("11.998"), 0) if words else (Decimal("9.998"), 2))


@pytest.mark.parametrize("kind", ["OTOCO", "OPOCO"])
async def test_what_was_missed_starts_exits_that_met_the_rest_of_it(bench: Bench, kind: ListShape) -> None:
    bench.matcher.step = Quantity(Decimal("0.001"))
    await bench.broker.place(entered(kind), bench.gate)

    missed = [bench.trade(98, buys=False), bench.trade(105, buys=True), bench.trade(94, 1, buys=False)]
    await bench.met(*missed, is_replay=True)

    # At its own price nobody knows who stood before it: it was not filled there, and the stop has come since.
    assert await bench.status(ENTRY, ABOVE, BELOW) == ["FILLED", "EXPIRED", "NEW"]
    assert (await bench.row(BELOW)).is_triggered


async def test_an_entry_that_nobody_watched_ends_with_its_exits_and_says_so(bench: Bench) -> None:
    await bench.broker.place(entered("OTOCO"), bench.gate)
    await bench.exchange.accept_list(
        "other", replace(entered("OTO"), client_list_id="o"), await bench.broker.pair_of(SYMBOL)
    )
    await bench.matcher.look()

    await bench.matcher.expire_unwatched(bench.trade(90, buys=False), bench.clock.now_ms())

    assert await reasons(bench, ENTRY, ABOVE, BELOW) == [("EXPIRED", NOT_WATCHED)] * 3
    assert await bench.free() == START
    others = await bench.exchange.open_orders("other")
    assert [row.order.status for row in others] == ["PENDING_NEW", "PENDING_NEW"]  # it had not arrived


async def test_an_entry_on_its_way_is_not_taken_for_an_exit_that_waits(bench: Bench) -> None:
    bench.clock.matcher = None

    outcome = await bench.broker.place(entered("OTO"), bench.gate)

    assert [each.status for each in outcome.legs] == ["PENDING_NEW", "PENDING_NEW"]
    assert "not ready yet" in outcome.reason
    rows = [(await bench.row(each)).to_paper() for each in (ENTRY, BELOW)]
    assert [(each.is_on_its_way, each.awaits_entry) for each in rows] == [(True, False), (False, True)]


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            written(ENTRY, "BUY", 99, kind="STOP_LOSS_LIMIT", stop=98),
            "the entry of a list must be LIMIT or LIMIT_MAKER",
        ),
        (written(ENTRY, "SELL", 99), "the entry of a list must be on the other side"),
    ],
)
async def test_what_is_no_entry_is_refused_in_words(bench: Bench, entry: object, words: str) -> None:
    listed = entered("OTOCO")

    outcome = await bench.broker.place(replace(listed, orders=(entry, *listed.orders[1:])), bench.gate)

    assert (outcome.fate, outcome.reason) == (Fate.REFUSED, words)


async def test_an_entry_that_cannot_be_paid_for_is_no_list(bench: Bench) -> None:
    outcome = await bench.broker.place(entered("OTOCO", quantity=11), bench.gate)

    assert (outcome.fate, outcome.legs) == (Fate.REFUSED, ())
    assert await bench.broker.ask(SYMBOL, BELOW) is None
    assert await bench.free() == START
