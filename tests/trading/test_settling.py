"""What is not over: left by the dead, under way at the end, open at the exchange, or declared not to be there."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.order_requests import Fate
from mcp_binance_server.domain.orders import Order
from mcp_binance_server.trading.desk import Desk
from mcp_binance_server.trading.errors import JournalUnavailable
from mcp_binance_server.trading.journal.ledger import HostLedger
from mcp_binance_server.trading.journal.records import Intent
from mcp_binance_server.trading.journal.watching import WATCHED_MS
from mcp_binance_server.trading.requests import written_order
from mcp_binance_server.trading.tasks import LAST_MS
from support.terms import NOW_MS, intent
from trading.bench import Bench, Scripted, opened_bench, placed

pytestmark = pytest.mark.anyio

ORDER = intent().client_order_id


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        yield made


async def stands(desk: Desk, number: int = 0) -> Intent:
    found = await desk.ledger.find(intent(number).preview_id)
    assert found is not None
    return found


async def leave_behind(folder: Path, exchange: Scripted) -> None:
    """Have one intent claimed and one sent by a process that died; the second one reached the exchange."""
    async with opened_bench(folder, exchange) as made:
        dead = HostLedger(made.desk.ledger.store, "dead")
        for number in range(2):
            await dead.claim(intent(number), (), NOW_MS)
        await dead.mark_sent(intent(1).preview_id, NOW_MS)
    exchange.stands[intent(1).client_order_id] = order(1)


def order(number: int = 0) -> Order:
    return placed(written_order(intent(number).terms, intent(number).client_order_id))


async def moved_on(desk: Desk, state: str, number: int = 0) -> Intent:
    while (found := await stands(desk, number)).state == state:
        await anyio.lowlevel.checkpoint()
    return found


async def test_a_start_settles_what_the_dead_left(tmp_path: Path) -> None:
    exchange = Scripted()
    await leave_behind(tmp_path, exchange)

    async with opened_bench(tmp_path, exchange) as made:
        await made.desk.ready()

        assert [(await stands(made.desk, number)).state for number in range(2)] == ["NOT_SENT", "ACKED"]
    assert exchange.reached == []


async def test_a_desk_is_not_ready_while_nobody_can_be_asked(tmp_path: Path) -> None:
    exchange = Scripted()
    await leave_behind(tmp_path, exchange)
    exchange.is_away = True

    async with opened_bench(tmp_path, exchange) as made:
        while exchange.questions < 20:
            await anyio.lowlevel.checkpoint()
        assert made.desk.waits_for == "the outcome of the last run's orders is known"
        assert (await stands(made.desk, 1)).state == "SENT"

        exchange.is_away = False
        await made.desk.ready()
        assert (await stands(made.desk, 1)).state == "ACKED"


async def test_orders_of_another_mode_are_not_asked_for_here(tmp_path: Path) -> None:
    exchange = Scripted()
    await leave_behind(tmp_path, exchange)

    async with opened_bench(tmp_path, exchange, "practice") as made:
        await made.desk.ready()

        assert exchange.questions == 0
        assert [(await stands(made.desk, number)).state for number in range(2)] == ["NOT_SENT", "SENT"]


async def test_fills_that_came_later_are_learned(bench: Bench) -> None:
    await bench.place(intent())
    filled = replace(bench.exchange.stands[ORDER], status="FILLED", executed=intent().terms.quantity)
    bench.exchange.stands[ORDER] = filled

    await bench.desk.catch_up({"paper"})

    found = await stands(bench.desk)
    assert (found.status, found.executed) == ("FILLED", intent().terms.quantity)
    assert found.final_ms is not None


async def test_no_news_are_not_written_and_open_orders_are_asked_for_together(bench: Bench) -> None:
    for number, side in enumerate(("BUY", "SELL")):
        await bench.place(intent(number, side=side))
    before = [each.seq for each in await bench.desk.reader.history(intent().preview_id)]

    await bench.desk.catch_up()

    assert [each.seq for each in await bench.desk.reader.history(intent().preview_id)] == before
    assert bench.exchange.questions == 0


async def test_accounts_that_were_not_asked_for_are_left_alone(bench: Bench) -> None:
    await bench.place(intent())
    bench.exchange.stands[ORDER] = replace(bench.exchange.stands[ORDER], status="EXPIRED")

    await bench.desk.catch_up({"paper-other"})
    assert (await stands(bench.desk)).status == "NEW"

    await bench.desk.catch_up()
    assert (await stands(bench.desk)).status == "EXPIRED"


async def test_an_order_whose_outcome_could_not_be_written_is_asked_for_later(bench: Bench) -> None:
    bench.exchange.held = anyio.Event()
    db = bench.desk.ledger.store.db
    async with anyio.create_task_group() as group:
        group.start_soon(bench.place, intent())
        while not bench.exchange.reached:
            await anyio.lowlevel.checkpoint()
        db.execute("PRAGMA query_only=1")
        bench.exchange.held.set()
    assert (await stands(bench.desk)).state == "SENT"
    db.execute("PRAGMA query_only=0")

    await bench.desk.catch_up()

    assert (await moved_on(bench.desk, "SENT")).state == "ACKED"
    assert len(bench.exchange.reached) == 1


async def test_an_order_found_after_it_was_declared_not_placed_stops_trading(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    await bench.place(intent())
    assert (await moved_on(bench.desk, "UNKNOWN")).state == "NOT_PLACED"
    assert await bench.desk.reader.stops() == []

    bench.exchange.stands[ORDER] = order()
    await bench.desk.catch_up()

    assert (await stands(bench.desk)).state == "ACKED"
    stopped = await bench.desk.ledger.stopped("paper")
    assert stopped is not None
    assert stopped.why == f"order {ORDER} was declared not placed but was found"


async def test_an_order_that_does_not_come_to_light_is_watched_for_a_day(bench: Bench) -> None:
    bench.exchange.fate = Fate.UNKNOWN
    await bench.place(intent())
    await moved_on(bench.desk, "UNKNOWN")
    declared_ms = (await stands(bench.desk)).updated_ms

    bench.clock.set_wall(declared_ms + WATCHED_MS - 1)
    await bench.desk.catch_up()
    assert (await stands(bench.desk)).final_ms is None

    bench.clock.set_wall(declared_ms + WATCHED_MS)
    await bench.desk.catch_up()
    assert (await stands(bench.desk)).final_ms is not None
    assert (await bench.used(intent()))["open_orders"] == 0


async def test_an_order_that_the_exchange_has_forgotten_is_no_longer_open(bench: Bench) -> None:
    await bench.place(intent())
    stood = dict(bench.exchange.stands)
    bench.clock.advance(3_600_000)
    bench.exchange.stands.clear()
    await bench.desk.catch_up()
    bench.exchange.stands.update(stood)
    bench.clock.advance(bench.exchange.horizon_ms)
    await bench.desk.catch_up()
    bench.exchange.stands.clear()

    await bench.desk.catch_up()
    bench.clock.advance(bench.exchange.horizon_ms - 1)
    await bench.desk.catch_up()
    assert (await bench.used(intent()))["open_orders"] == 1

    bench.clock.advance(1)
    await bench.desk.catch_up()
    assert (await bench.used(intent()))["open_orders"] == 0
    assert (await bench.used(intent()))["per_day"] == 60_00


async def test_what_cannot_be_asked_now_is_asked_next_time(bench: Bench) -> None:
    await bench.place(intent())
    bench.exchange.stands[ORDER] = replace(bench.exchange.stands[ORDER], status="EXPIRED")
    bench.exchange.is_away = True

    await bench.desk.catch_up()
    assert (await stands(bench.desk)).status == "NEW"

    bench.exchange.is_away = False
    await bench.desk.catch_up()
    assert (await stands(bench.desk)).status == "EXPIRED"


async def test_the_end_of_the_process_waits_for_an_order_under_way(tmp_path: Path) -> None:
    exchange = Scripted(held=anyio.Event())

    async def let_go() -> None:
        while not made.desk.background_tasks.is_ending:
            await anyio.lowlevel.checkpoint()
        with pytest.raises(JournalUnavailable):
            await made.place(intent(1))
        assert exchange.held is not None
        exchange.held.set()

    async with anyio.create_task_group() as group, opened_bench(tmp_path, exchange) as made:
        group.start_soon(let_go)
        with anyio.CancelScope() as client:
            async with anyio.create_task_group() as asking:
                asking.start_soon(made.place, intent())
                while not exchange.reached:
                    await anyio.lowlevel.checkpoint()
                client.cancel()

    async with opened_bench(tmp_path, exchange) as made:
        assert (await stands(made.desk)).state == "ACKED"
        assert await made.desk.ledger.find(intent(1).preview_id) is None
    assert LAST_MS == 13_000  # fifteen seconds with the two that answers in hand have before


@pytest.mark.parametrize(("reaches", "left"), [(True, "UNKNOWN"), (False, "NOT_SENT")])
async def test_the_end_of_the_process_does_not_wait_for_ever(tmp_path: Path, *, reaches: bool, left: str) -> None:
    exchange = Scripted(held=anyio.Event(), holds_before=not reaches)
    with anyio.CancelScope() as everything:
        async with opened_bench(tmp_path, exchange) as made:
            made.desk.background_tasks.last_ms = 1
            async with anyio.create_task_group() as asking:
                asking.start_soon(made.place, intent())
                while not exchange.arrived:
                    await anyio.lowlevel.checkpoint()
                everything.cancel()

    exchange.is_away = True
    async with opened_bench(tmp_path, exchange) as made:
        assert (await stands(made.desk)).state == left
        if reaches:
            exchange.stands[ORDER] = order()
            exchange.is_away = False
            assert (await moved_on(made.desk, "UNKNOWN")).state == "ACKED"
    assert len(exchange.reached) == int(reaches)


async def test_a_desk_leaves_what_another_desk_of_its_process_is_about_to_send(tmp_path: Path) -> None:
    held = anyio.Event()
    exchange = Scripted(held=held, holds_before=True)
    async with opened_bench(tmp_path / "trading", exchange, account=intent().terms.account) as made:
        await made.desk.ready()
        other = Desk(made.desk.ledger, lambda _: exchange, made.clock, made.clock.now_ms, "paper", "somebody-else")
        async with other.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(made.place, intent())
            while not exchange.arrived:
                await anyio.lowlevel.checkpoint()
            await other.catch_up()
            assert (await stands(made.desk)).state == "PREPARED"
            held.set()
        assert (await stands(made.desk)).state == "ACKED"
        assert len(exchange.reached) == 1
