"""What a server forgot, those remember who lived through it: the budget and the cap hold all the same."""

import asyncio
import random
from collections import Counter
from itertools import count

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import StateEngine
from support.state_server import Connect, StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.flood]

CLOCK = SystemClock()
MINUTE = 29_743_202
MIDDLE_MS = MINUTE * 60_000 + 30_000
NEXT_MS = (MINUTE + 1) * 60_000 + 1_000


class Skipping(SystemClock):
    """The machine's clock, which can be made to have run on."""

    ahead_ms = 0

    def monotonic_ms(self) -> float:
        return super().monotonic_ms() + self.ahead_ms


async def spend(engine: StateEngine, cost: int, *, now_ms: int = MIDDLE_MS) -> bool:
    return bool(await engine.acquire_weight("ip", "order", cost, limit=1000, now_ms=now_ms))


async def emptied(server: StateServer, *engines: StateEngine) -> None:
    server.kill()
    server.start_empty()
    for engine in engines:
        for _ in range(60):
            try:
                await engine.get("k")
                break
            except EngineUnavailable:
                await CLOCK.sleep_ms(50)


async def asked_to_recount(engine: StateEngine) -> bool:
    """Ask until the engine wants the exchange's count from us, or has it."""
    for _ in range(100):
        grant = await engine.acquire_weight("ip", "order", 1, limit=1000, now_ms=MIDDLE_MS)
        if grant.reason != "forgotten" or grant.retry_ms == 0:
            return not grant.granted
        assert grant.retry_ms <= 1_500
        await CLOCK.sleep_ms(min(grant.retry_ms, 100))
    raise AssertionError("nobody is asked to recount")


@pytest.mark.night
async def test_a_minute_that_was_forgotten_counts_as_full_for_everybody(server: StateServer, connect: Connect) -> None:
    clock = Skipping()
    veteran = await connect(clock=clock)
    assert await spend(veteran, 900)

    await emptied(server, veteran)
    refused = await veteran.acquire_weight("ip", "order", 1, limit=1000, now_ms=MIDDLE_MS)

    assert (refused.granted, refused.reason, refused.used) == (False, "forgotten", 900)
    newcomer = await connect()
    assert not await spend(newcomer, 1)
    clock.ahead_ms = NEXT_MS - MIDDLE_MS
    assert await spend(veteran, 900, now_ms=NEXT_MS)


@pytest.mark.night
async def test_the_exchanges_own_count_ends_the_forgetting_within_seconds(
    server: StateServer, connect: Connect
) -> None:
    veteran, other = await connect(), await connect()
    assert await spend(veteran, 300)

    server.command("FLUSHALL")
    began_ms = CLOCK.monotonic_ms()
    assert await asked_to_recount(veteran)
    assert not await spend(other, 1)
    assert CLOCK.monotonic_ms() - began_ms > 1_000  # what was on its way has arrived
    await veteran.recall_weight("ip", 300, minute=MINUTE)

    assert not await spend(other, 601)
    assert await spend(other, 600)
    assert not await spend(veteran, 1)


async def test_one_caller_a_second_is_asked_to_recount(server: StateServer, connect: Connect) -> None:
    engines = [await connect(), await connect()]
    assert await spend(engines[0], 300)
    server.command("FLUSHALL")
    began_ms = CLOCK.monotonic_ms()
    assert await asked_to_recount(engines[0])

    grants = [await engine.acquire_weight("ip", "public", 1, limit=1000, now_ms=MIDDLE_MS) for engine in 20 * engines]

    assert {each.reason for each in grants} == {"forgotten"}
    assert max(each.retry_ms for each in grants) <= 1_000
    assert sum(each.retry_ms == 0 for each in grants) < (CLOCK.monotonic_ms() - began_ms) / 1_000
    assert await asked_to_recount(engines[1])


@pytest.mark.night
async def test_a_count_that_was_asked_for_before_the_next_loss_is_not_trusted(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()
    assert await spend(engine, 300)
    server.command("FLUSHALL")
    assert await asked_to_recount(engine)

    server.command("FLUSHALL")
    await engine.recall_weight("ip", 300, minute=MINUTE)

    assert not await spend(engine, 1)


@pytest.mark.night
async def test_one_who_comes_after_the_loss_was_noticed_is_told_of_it(server: StateServer, connect: Connect) -> None:
    veteran = await connect()
    assert await spend(veteran, 900)
    await emptied(server, veteran)

    newcomer = await connect()

    assert not await spend(newcomer, 1)


@pytest.mark.night
async def test_also_after_flushall_on_a_connection_that_stays(server: StateServer, connect: Connect) -> None:
    veteran = await connect()
    assert await spend(veteran, 900)

    server.command("FLUSHALL")

    assert not await spend(veteran, 1)


@pytest.mark.night
async def test_one_who_knew_no_memory_before_cannot_know_what_was_forgotten(
    server: StateServer, connect: Connect
) -> None:
    server.command("FLUSHALL")

    assert await spend(await connect(), 900)


@pytest.mark.night
async def test_a_stop_that_was_forgotten_is_told_again(server: StateServer, connect: Connect) -> None:
    first, second = await connect(), await connect()
    await first.stop_weight("ip", ms=600_000, reason="418")
    await spend(second, 1)

    await emptied(server, second)
    refused = await second.acquire_weight("ip", "order", 1, limit=1000, now_ms=MIDDLE_MS + 120_000)

    assert refused.reason == "stopped"
    assert 590_000 < refused.retry_ms <= 600_000
    assert (await (await connect()).acquire_weight("ip", "order", 1, limit=1000, now_ms=0)).reason == "stopped"


@pytest.mark.night
async def test_a_stop_that_could_not_be_told_is_told_with_the_next_call(server: StateServer, connect: Connect) -> None:
    engine = await connect()
    await engine.stop_weight("ip", ms=300_000, reason="418")
    server.kill()
    for ms in (600_000, 1_000):
        with pytest.raises(EngineUnavailable):
            await engine.stop_weight("ip", ms=ms, reason="418")

    server.start_empty()
    await emptied(server, engine)

    refused = await engine.acquire_weight("ip", "order", 1, limit=1000, now_ms=MIDDLE_MS + 120_000)
    assert refused.reason == "stopped"
    assert 590_000 < refused.retry_ms <= 600_000


@pytest.mark.night
async def test_members_of_a_lost_memory_keep_their_places_before_new_ones_come(
    server: StateServer, connect: Connect
) -> None:
    first, second = await connect(), await connect()
    for number in range(3):
        await first.admit("p", f"a{number}", ttl_ms=60_000, cap=5)
    for number in range(2):
        await second.admit("p", f"b{number}", ttl_ms=60_000, cap=5)
    await second.admit("p", "gone", ttl_ms=60_000, cap=9)
    await second.leave("p", "gone")

    await emptied(server, first)
    assert await first.touch("p", "a0", ttl_ms=60_000)
    early = await first.admit("p", "new", ttl_ms=60_000, cap=5)
    await CLOCK.sleep_ms(max(2_500, early.retry_ms))

    assert not early.admitted
    assert early.retry_ms <= 2_000
    late = await first.admit("p", "new", ttl_ms=60_000, cap=5)
    assert (late.admitted, late.count) == (False, 5)
    assert await second.touch("p", "b1", ttl_ms=60_000)


@pytest.mark.night
async def test_members_of_a_lost_memory_still_count_for_their_parties(server: StateServer, connect: Connect) -> None:
    first, second = await connect(), await connect()
    for number in range(4):
        await first.admit("p", f"m{number}", ttl_ms=60_000, cap=5, party="m")
    await second.admit("p", "b0", ttl_ms=60_000, cap=5, party="b")
    await first.touch("p", "m0", ttl_ms=60_000)

    await emptied(server, first)
    early = await second.admit("p", "b1", ttl_ms=60_000, cap=5, party="b")
    await CLOCK.sleep_ms(max(2_500, early.retry_ms))
    late = await second.admit("p", "b1", ttl_ms=60_000, cap=5, party="b")

    assert not early.admitted
    assert late.evicted.startswith("m")
    assert not await first.touch("p", late.evicted, ttl_ms=60_000)
    assert not (await first.admit("p", "m9", ttl_ms=60_000, cap=5, party="m")).admitted


@pytest.mark.night
async def test_whatever_happens_to_the_server_budget_and_cap_hold(
    server: StateServer, connect: Connect, scale: int
) -> None:
    engines = [await connect() for _ in range(3)]
    chance = random.Random(5)
    over = asyncio.Event()
    spent = Counter[str]()
    inside = [set[str]() for _ in engines]

    async def work(number: int, engine: StateEngine) -> None:
        for turn in count():
            if over.is_set():
                return
            member = f"{number}-{turn}"
            try:
                spent["granted"] += 3 * await spend(engine, 3)
                if (await engine.admit("p", member, ttl_ms=600_000, cap=20)).admitted:
                    inside[number].add(member)
                if inside[number] and chance.random() < 0.2:
                    gone = inside[number].pop()
                    await engine.leave("p", gone)
            except EngineUnavailable:
                spent["unavailable"] += 1
                await CLOCK.sleep_ms(10)

    async def trouble() -> None:
        for _ in range(3 * scale):
            await CLOCK.sleep_ms(300)
            server.kill()
            server.start_empty()
            await CLOCK.sleep_ms(1_500)
            server.freeze()
            await CLOCK.sleep_ms(900)
            server.thaw()
            await CLOCK.sleep_ms(300)
            server.command("FLUSHALL")
        await CLOCK.sleep_ms(3_500)
        over.set()

    await asyncio.gather(trouble(), *(work(number, engine) for number, engine in enumerate(engines)))

    assert 0 < spent["granted"] <= 900
    assert spent["unavailable"] > 0
    assert 0 < sum(map(len, inside)) <= 20
    assert await engines[0].members("p") <= 20
