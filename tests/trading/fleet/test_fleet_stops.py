"""Stops in a fleet: an account's holds it on every worker, everybody's holds every account, kept there or not."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.fleet.stops import ALL
from mcp_binance_server.trading.journal.records import Stopped
from mcp_binance_server.trading.journal.stops import ALL_ACCOUNTS, TradingIsStopped
from support.terms import intent
from trading.fleet.floor import TICK_MS, Fleet, Worker, fleet_in

pytestmark = pytest.mark.anyio

BOB = "k-bob"
PATIENCE_SECS = 60


@asynccontextmanager
async def two_workers(folder: Path) -> AsyncGenerator[tuple[Fleet, Worker, Worker, FleetLedger]]:
    """Start two workers, and on the second a ledger of another account that no keeper looks after."""
    fleet = fleet_in(folder)
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(fleet.worker(each)) for each in ("one", "two")]
        lease = await fleet.engine.lease(f"trade:{BOB}", "a test", ttl_ms=1_000)
        assert lease is not None
        await fleet.engine.recount(BOB, (), lease=lease)
        yield fleet, one, two, FleetLedger(two.ledger.host, fleet.engine, BOB, fleet.policy)


async def leaves(ledger: FleetLedger, number: int, now_ms: int) -> bool:
    """Whether an order of the ledger's account is claimed and passes the gate."""
    new = intent(number, account=ledger.account, symbol=Symbol(f"C{number}USDT"))  # beside no other
    try:
        await ledger.claim(new, (), now_ms)
        await ledger.mark_sent(new.preview_id, now_ms)
    except TradingIsStopped:
        return False
    return True


async def agreed(*workers: Worker) -> None:
    """Let both workers do twice what they do beside orders: half a second of each."""
    for worker in (*workers, *workers):
        await worker.ticks(0.25)


async def test_the_stop_of_an_account_on_one_worker_holds_it_on_another_and_nobody_else(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, bobs):
        now_ms = fleet.clock.now_ms()
        await one.ledger.stop("a fire", "an assistant", now_ms, one.ledger.account)

        assert not await leaves(two.ledger, 1, now_ms)  # by the shared state, at once
        assert await leaves(bobs, 2, now_ms)
        await agreed(one, two)
        assert await two.ledger.host.stops() == [Stopped("a fire", now_ms, two.ledger.account)]
        assert not await leaves(two.ledger, 3, now_ms)
        assert await leaves(bobs, 4, now_ms)


@pytest.mark.slow
async def test_everybodys_stop_and_resuming_reach_accounts_that_only_another_worker_knows(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, bobs):
        queued, now_ms = intent(account=BOB), fleet.clock.now_ms()
        await bobs.claim(queued, (), now_ms)

        await one.ledger.host.stop("a flood", "a person", now_ms)  # as the command does, in its journal alone
        await agreed(one, two)

        flood = Stopped("a flood", now_ms, ALL_ACCOUNTS)
        assert fleet.clock.now_ms() - now_ms <= 1_000
        assert await bobs.stopped(BOB) == await two.ledger.stopped(two.ledger.account) == flood
        with pytest.raises(TradingIsStopped, match="a flood"):
            await bobs.mark_sent(queued.preview_id, now_ms)
        assert [await leaves(each, 2, now_ms) for each in (bobs, two.ledger, one.ledger)] == [False] * 3

        await one.ledger.host.resume("a person", fleet.clock.now_ms())
        await agreed(one, two)

        assert await two.ledger.host.stops() == await one.ledger.host.stops() == []
        assert [await leaves(each, 3, now_ms) for each in (bobs, two.ledger)] == [True, True]


async def test_everybody_is_resumed_from_whichever_worker_and_by_whichever_clock(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, _):
        now_ms = fleet.clock.now_ms()
        await one.ledger.host.stop("a flood", "a person", now_ms + 5_000)
        await agreed(one, two)

        await two.ledger.host.resume("a person", now_ms)  # by a clock that is behind
        await agreed(two, one)

        assert await two.ledger.host.stops() == await one.ledger.host.stops() == []


async def test_one_account_is_resumed_everywhere_and_the_other_stays_stopped(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, bobs):
        now_ms, own = fleet.clock.now_ms(), one.ledger.account
        await one.ledger.stop("a fire", "a person", now_ms, own)
        await bobs.stop("too dear", "a person", now_ms, BOB)
        await agreed(one, two)

        await two.ledger.host.resume("a person", fleet.clock.now_ms(), own)
        await agreed(two, one)

        assert await one.ledger.host.stops() == []
        assert await two.ledger.host.stops() == [Stopped("too dear", now_ms, BOB)]
        assert await leaves(one.ledger, 1, now_ms)
        assert not await leaves(bobs, 2, now_ms)


async def test_what_a_person_lifted_without_its_keeper_is_lifted_in_the_state_too(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, bobs):
        await bobs.stop("too dear", "a person", fleet.clock.now_ms(), BOB)
        await agreed(one, two)

        await two.ledger.host.resume("a person", fleet.clock.now_ms())
        await agreed(one, two)

        assert await bobs.stopped(BOB) is None
        assert await leaves(bobs, 1, fleet.clock.now_ms())


async def test_a_stop_that_nobody_was_shown_is_not_lifted(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, bobs):
        now_ms = fleet.clock.now_ms()
        await one.ledger.host.stop("a flood", "a person", now_ms)
        await bobs.stop("too dear", "a person", now_ms, BOB)
        await agreed(one, two)

        await one.ledger.host.resume("a person", fleet.clock.now_ms())  # where the account is not known
        await agreed(one, two)

        assert await bobs.stopped(BOB) == Stopped("too dear", now_ms, BOB)


async def test_everybodys_stop_outlives_the_emptying_of_the_state(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, _):
        now_ms = fleet.clock.now_ms()
        await one.ledger.host.stop("a flood", "a person", now_ms)
        await one.ticks(0.25)
        fleet.engine.empty()

        await agreed(one, two)

        assert await two.ledger.host.stopped() == Stopped("a flood", now_ms, ALL_ACCOUNTS)


async def until(fleet: Fleet, holds: Callable[[], Awaitable[bool]]) -> None:
    """Let time pass until something is so."""
    with anyio.fail_after(PATIENCE_SECS):
        while not await holds():
            fleet.clock.advance(TICK_MS)
            await anyio.lowlevel.checkpoint()


async def test_everybodys_stop_does_not_wait_for_an_exchange_that_does_not_answer(tmp_path: Path) -> None:
    async with two_workers(tmp_path) as (fleet, one, two, _):
        asked = anyio.Event()

        async def never() -> None:
            asked.set()
            await anyio.sleep_forever()

        async def is_asked() -> bool:
            return asked.is_set()

        async def is_told() -> bool:
            return (await fleet.engine.account_book(ALL, now_ms=0, since_ms=0)).stop is not None

        one.keeper.count_again = never
        fleet.engine.empty()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one.keeper.run)
            await until(fleet, is_asked)
            await one.ledger.host.stop("a flood", "a person", fleet.clock.now_ms())
            await until(fleet, is_told)
            tasks.cancel_scope.cancel()

        await two.ticks(0.25)
        stopped = await two.ledger.host.stopped()
        assert stopped is not None
        assert stopped.why == "a flood"
