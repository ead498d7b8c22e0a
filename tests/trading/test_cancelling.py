"""Cancels: events of their order's intent, sent once, also while trading is stopped; the order tells the end."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.order_requests import Fate, Target
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.desk import Placed
from support.terms import NOW_MS, intent
from trading.bench import Bench, Scripted, opened_bench

pytestmark = pytest.mark.anyio

ORDER = intent().client_order_id
TARGET = Target(Symbol("BTCUSDT"), ORDER)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    """A desk with one order that stands."""
    async with opened_bench(tmp_path / "trading") as made:
        await made.desk.ready()
        await made.place(intent())
        yield made


async def cancel(bench: Bench) -> Placed:
    return await bench.desk.cancel("paper", TARGET, "me")


async def events(bench: Bench) -> list[str]:
    return [each.state for each in await bench.desk.reader.history(intent().preview_id)]


async def test_a_cancel_is_written_down_before_it_leaves_and_after(bench: Bench) -> None:
    outcome = await cancel(bench)

    assert (outcome.cancel, outcome.intent.status) == ("CANCELLED", "CANCELED")
    assert outcome.intent.final_ms is not None
    assert (await events(bench))[-3:] == ["CANCEL_ASKED", "CANCELLED", "STATUS"]
    assert [each.order_id for each in bench.exchange.cancels] == [1]


async def test_a_stop_does_not_hold_a_cancel_back(bench: Bench) -> None:
    await bench.desk.ledger.stop("a fire", "a test", NOW_MS, "paper")

    assert (await cancel(bench)).cancel == "CANCELLED"


async def test_an_order_that_is_over_is_told_as_it_stands_and_nothing_is_sent(bench: Bench) -> None:
    await cancel(bench)
    before = await events(bench)

    again = await cancel(bench)

    assert (again.cancel, again.intent.status) == (None, "CANCELED")
    assert len(bench.exchange.cancels) == 1
    assert await events(bench) == before


async def test_the_same_cancel_asked_for_many_times_at_once_is_sent_once(bench: Bench) -> None:
    found: list[Placed] = []

    async def ask() -> None:
        found.append(await cancel(bench))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(ask)

    assert len(bench.exchange.cancels) == 1
    assert {each.intent.status for each in found} == {"CANCELED"}


async def test_a_refusal_teaches_how_the_order_stands(bench: Bench) -> None:
    stands = bench.exchange.stands[ORDER]
    bench.exchange.stands[ORDER] = replace(stands, status="FILLED", executed=stands.quantity)
    bench.exchange.cancel_fate = Fate.REFUSED

    outcome = await cancel(bench)

    assert (outcome.cancel, outcome.intent.status, outcome.reason) == ("CANCEL_REFUSED", "FILLED", "as told")
    assert outcome.intent.executed == stands.quantity


async def test_a_cancel_without_an_answer_is_not_sent_again_and_the_order_is_asked_for(bench: Bench) -> None:
    bench.exchange.cancel_fate = Fate.UNKNOWN
    cancelled = replace(bench.exchange.stands[ORDER], status="CANCELED")
    bench.exchange.asked = [None, bench.exchange.stands[ORDER], cancelled]

    outcome = await cancel(bench)
    while (found := await bench.desk.ledger.find(intent().preview_id)) is None or found.final_ms is None:
        await anyio.lowlevel.checkpoint()

    assert outcome.cancel == "CANCEL_UNKNOWN"
    assert (found.status, len(bench.exchange.cancels)) == ("CANCELED", 1)


async def test_who_leaves_does_not_take_the_cancel_along(bench: Bench) -> None:
    bench.exchange.held = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(cancel, bench)
        while not bench.exchange.cancels:
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert (await events(bench))[-1] == "CANCEL_ASKED"
    bench.exchange.held.set()

    assert (await cancel(bench)).intent.status == "CANCELED"
    assert len(bench.exchange.cancels) == 1


@pytest.mark.parametrize(
    ("account", "target"),
    [
        ("paper-other", TARGET),
        ("paper", replace(TARGET, client_order_id="mbp-x")),
        ("paper", replace(TARGET, symbol="X")),
    ],
)
async def test_there_is_nothing_to_cancel_that_is_not_the_accounts_own(
    bench: Bench, account: str, target: Target
) -> None:
    with pytest.raises(KeyError):
        await bench.desk.cancel(account, target, "me")

    assert bench.exchange.cancels == []


async def test_what_cannot_be_written_down_is_not_sent(bench: Bench) -> None:
    bench.desk.ledger.store.db.execute("PRAGMA query_only=1")

    outcome = await cancel(bench)

    assert outcome.cancel is None
    assert "cannot be written" in outcome.reason
    assert bench.exchange.cancels == []


@pytest.mark.parametrize(
    ("status", "ends"), [("CANCELED", "CANCELLED"), ("NEW", "CANCEL_UNKNOWN"), ("FILLED", "CANCEL_UNKNOWN")]
)
async def test_the_cancel_of_a_dead_process_ends_as_its_order_tells(tmp_path: Path, status: str, ends: str) -> None:
    exchange = Scripted()
    async with opened_bench(tmp_path, exchange) as first:
        await first.place(intent())
        await first.desk.watch.ask_to_cancel(intent().preview_id, "dead", "me", NOW_MS)
    exchange.stands[ORDER] = replace(exchange.stands[ORDER], status=status)

    async with opened_bench(tmp_path, exchange) as second:
        await second.desk.ready()

        found = await second.desk.ledger.find(intent().preview_id)
        assert found is not None
        assert found.status == status
        assert [each for each in await events(second) if each.startswith("CANCEL")] == ["CANCEL_ASKED", ends]
        assert exchange.cancels == []
