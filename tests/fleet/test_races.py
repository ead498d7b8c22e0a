"""Processes that want the same thing at the same time."""

import asyncio
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.state.claims import Claim, ClaimNews, LimitPart
from mcp_binance_server.state.engine import Fenced, StateEngine
from mcp_binance_server.state.weight import ceiling
from support.fleet_worker import CAP, CENTS, CLAIMS, LIMIT, MIDDLE_MS, MINUTES, MOST_CENTS
from support.state_server import Connect, StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.flood]

WORKER = Path(__file__).parent.parent / "support" / "fleet_worker.py"
CLOCK = SystemClock()


class Worker:
    """A process that does one job of `support.fleet_worker`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def started(cls, url: str, job: str, name: str) -> "Worker":
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(WORKER), url, job, name, stdout=asyncio.subprocess.PIPE
        )
        worker = cls(process)
        assert await worker.line() == "ready"
        return worker

    async def line(self) -> str:
        assert self.process.stdout is not None
        return (await asyncio.wait_for(self.process.stdout.readline(), 60)).decode().strip()

    async def result(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(await self.line())
        assert await self.process.wait() == 0
        return told


async def at_the_start(engine: StateEngine, url: str, job: str, names: list[str]) -> list[Worker]:
    workers = await asyncio.gather(*(Worker.started(url, job, name) for name in names))
    await engine.put("go", b"", ttl_ms=60_000)
    return workers


async def results(workers: list[Worker]) -> list[dict[str, Any]]:
    return await asyncio.gather(*(worker.result() for worker in workers))


@pytest.mark.night
async def test_eight_engines_in_four_processes_never_spend_more_than_the_ceiling(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()

    told = await results(await at_the_start(engine, server.url, "spend", ["a", "b", "c", "d"]))

    granted = [sum(minute) for minute in zip(*(each["granted"] for each in told), strict=True)]
    counted = [await engine.read_weight("ip", now_ms=MIDDLE_MS + minute * 60_000) for minute in range(MINUTES)]
    assert granted == counted
    assert all(ceiling(LIMIT) - 50 < spent <= ceiling(LIMIT) for spent in granted)
    assert sum(sum(each["granted"]) > 0 for each in told) > 1


@pytest.mark.night
async def test_a_thousand_racing_admissions_fill_the_cap_exactly(server: StateServer, connect: Connect) -> None:
    engine = await connect()

    told = await results(await at_the_start(engine, server.url, "admit", ["a", "b", "c", "d"]))

    assert sum(each["admitted"] for each in told) == CAP
    assert await engine.members("sessions") == CAP


async def test_four_processes_use_a_limit_up_never_pass_it_and_claim_each_order_once(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()
    lease = await engine.lease("claims", "test", ttl_ms=60_000)
    for account in ("own", "same"):
        await engine.recount(account, (), lease=lease)

    told = await results(await at_the_start(engine, server.url, "claim", ["a", "b", "c", "d"]))

    book = await engine.account_book("own", now_ms=MIDDLE_MS, since_ms=MIDDLE_MS)
    assert sum(each["own"] for each in told) == MOST_CENTS // CENTS
    assert book.used == {"per_day": MOST_CENTS, "orders_per_day": MOST_CENTS // CENTS}
    assert sum(each["same"] for each in told) == CLAIMS


@pytest.mark.night
async def test_an_engine_that_forgot_lets_nothing_be_claimed_or_leave_until_it_was_told(
    server: StateServer, connect: Connect
) -> None:
    engine, day = await connect(), (LimitPart("per_day", "day", 400, 1_000, returns=True),)
    first = Claim("first", b"v", MIDDLE_MS, day)
    lease = await engine.lease("claims", "test", ttl_ms=60_000)
    await engine.recount("k", (), lease=lease)
    assert await engine.reserve("k", first)
    server.command("FLUSHALL")

    leaving = await engine.depart("k", ClaimNews("first", b"v", 1, settled=False))
    refused = await engine.reserve("k", replace(first, name="second"))
    stale = await engine.recount("k", (), lease=lease)
    newer = await engine.lease("claims", "test", ttl_ms=60_000)
    told = [
        (first, ClaimNews("first", b"v", 4, settled=True)),
        (replace(first, name="other"), ClaimNews("other", b"v", 4, settled=True)),
    ]
    await engine.recount("k", told, lease=newer)
    full = await engine.reserve("k", replace(first, name="second"))

    assert (leaving.verdict, refused.verdict, stale) == ("lost", "lost", Fenced.LOST)
    assert (full.verdict, full.used) == ("full", 800)


@pytest.mark.night
async def test_two_hundred_callers_in_four_processes_share_one_production(
    server: StateServer, connect: Connect, tmp_path: Path
) -> None:
    calls = tmp_path / "calls"
    engine = await connect()

    workers = await at_the_start(engine, server.url, "fly", [str(calls)] * 4)
    assert [await worker.line() for worker in workers] == ["waiting"] * 4
    await engine.put("land", b"", ttl_ms=60_000)
    told = await results(workers)

    assert [answer for each in told for answer in each["answers"]] == ["answer"] * 200
    assert calls.read_text(encoding="utf-8") == "called\n"


@pytest.mark.night
async def test_the_death_of_the_producer_hands_its_work_to_another_process(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()
    await engine.put("go", b"", ttl_ms=60_000)
    doomed = await Worker.started(server.url, "hang", "k")
    assert await doomed.line() == "producing"

    async def produce() -> bytes:
        return b"second"

    waiting = asyncio.create_task(engine.single_flight("k", produce, ttl_ms=0, lock_ms=600))
    doomed.process.kill()
    await doomed.process.wait()

    assert await asyncio.wait_for(waiting, 30) == b"second"


@pytest.mark.night
async def test_of_eight_racing_engines_one_gets_the_lease_and_every_new_holder_a_higher_token(
    connect: Connect,
) -> None:
    engines = [await connect() for _ in range(8)]
    tokens: list[int] = []

    for _ in range(20):
        leases = await asyncio.gather(
            *(engine.lease("books", f"o{number}", ttl_ms=60_000) for number, engine in enumerate(engines))
        )
        [held] = [lease for lease in leases if lease is not None]
        tokens.append(int(held.token))
        assert await engines[0].release(held)

    assert tokens == sorted(set(tokens))


@pytest.mark.night
async def test_a_frozen_leader_that_wakes_writes_nothing_fenced_and_everything_plain(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()
    await engine.put("go", b"", ttl_ms=60_000)
    old = await Worker.started(server.url, "lead", "old")
    assert await old.line() == "leading"
    while await engine.get("plain") is None:
        await CLOCK.sleep_ms(5)

    old.process.send_signal(signal.SIGSTOP)
    while (lease := await engine.lease("books", "new", ttl_ms=60_000)) is None:
        await CLOCK.sleep_ms(20)
    await engine.put("plain", b"new", ttl_ms=60_000)
    await engine.put_fenced("fenced", b"new", lease=lease, ttl_ms=60_000)
    old.process.send_signal(signal.SIGCONT)
    for _ in range(2):  # it may have frozen between its two writes: between two plain ones there is a fenced one
        while await engine.get("plain") == b"new":
            await CLOCK.sleep_ms(5)
        await engine.put("plain", b"new", ttl_ms=60_000)
    while await engine.get("plain") == b"new":
        await CLOCK.sleep_ms(5)
    await engine.put("enough", b"", ttl_ms=60_000)
    told = await old.result()

    assert await engine.get("fenced") == b"new"
    assert await engine.get("plain") == b"old"
    # What was on its way when it froze may have been written before the new lease; nothing was after the first refusal.
    refused = told["outcomes"].index("stale")
    assert set(told["outcomes"][:refused]) == {"written"}
    assert set(told["outcomes"][refused:]) == {"stale"}
