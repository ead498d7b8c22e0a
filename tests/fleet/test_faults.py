"""A server that dies, freezes, forgets or is no longer the primary: every call answers or says so within a second."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Fenced, StateEngine
from support.engine_calls import CALLS, READS, WRITES, outcomes
from support.partition import Partition, partition
from support.state_server import Connect, StateServer, state_server
from support.stolen import stolen

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.flood]

CLOCK = SystemClock()
MIDDLE_MS = 29_743_202 * 60_000 + 30_000


async def recovered(engine: StateEngine) -> None:
    """Wait until every call works again, which must not take long."""
    began = CLOCK.monotonic_ms()
    async with stolen() as late:
        while set((await outcomes(engine, CALLS)).values()) != {"answered"}:
            assert CLOCK.monotonic_ms() - began < 3_000 + late.ms
            await CLOCK.sleep_ms(50)


@asynccontextmanager
async def killed(server: StateServer, _: Partition) -> AsyncGenerator[None]:
    server.kill()
    yield
    server.start_empty()


@asynccontextmanager
async def frozen(server: StateServer, _: Partition) -> AsyncGenerator[None]:
    server.freeze()
    yield
    await CLOCK.sleep_ms(1_000)
    server.thaw()


@asynccontextmanager
async def paused(server: StateServer, _: Partition) -> AsyncGenerator[None]:
    server.command("CLIENT", "PAUSE", "3000")
    yield
    server.command("CLIENT", "UNPAUSE")


@asynccontextmanager
async def cut_off(_: StateServer, proxy: Partition) -> AsyncGenerator[None]:
    proxy.shut()
    yield
    proxy.mend()


@asynccontextmanager
async def locked(server: StateServer, _: Partition) -> AsyncGenerator[None]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as operator:
        for said in (b"CONFIG SET requirepass changed", b"CLIENT KILL TYPE normal", b"CLIENT KILL TYPE pubsub"):
            operator.sendall(said + b"\r\n")
            operator.recv(1_000)
        yield
        operator.sendall(b'CONFIG SET requirepass ""\r\n')
        operator.recv(1_000)


@pytest.mark.night
@pytest.mark.parametrize("fault", [killed, frozen, paused, cut_off, locked])
async def test_every_call_is_unavailable_within_a_second_and_works_again_within_three(
    server: StateServer,
    connect: Connect,
    fault: Callable[[StateServer, Partition], AbstractAsyncContextManager[None]],
) -> None:
    async with partition(server.port) as proxy:
        engine = await connect(proxy.url)
        assert set((await outcomes(engine, CALLS)).values()) == {"answered"}

        async with fault(server, proxy):
            first = await outcomes(engine, CALLS)
            then = await outcomes(engine, CALLS)

        assert set(first.values()) == set(then.values()) == {"unavailable"}
        await recovered(engine)


@pytest.mark.night
async def test_an_engine_that_starts_before_its_server_finds_it_later(server: StateServer, connect: Connect) -> None:
    server.kill()
    engine = await connect()
    assert (await outcomes(engine, CALLS))["get"] == "unavailable"

    server.start_empty()

    await recovered(engine)


async def test_a_server_without_memory_refuses_writes_and_goes_on_reading(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()
    await engine.put("k", b"v", ttl_ms=60_000)
    await outcomes(engine, CALLS)
    server.command("CONFIG", "SET", "maxmemory", "1")

    refused, read = await outcomes(engine, WRITES), await outcomes(engine, READS)

    assert refused == dict.fromkeys(WRITES, "unavailable")
    assert read == dict.fromkeys(READS, "answered")
    server.command("CONFIG", "SET", "maxmemory", "0")
    await recovered(engine)


@pytest.mark.night
async def test_a_subscriber_learns_that_it_may_have_missed_something(server: StateServer, connect: Connect) -> None:
    async with partition(server.port) as proxy:
        engine = await connect(proxy.url)
        async with engine.subscribe("c") as messages:
            await engine.publish("c", b"1")
            assert await anext(messages) == b"1"
            proxy.shut()

            with pytest.raises(EngineUnavailable):
                await asyncio.wait_for(anext(messages), 10)

        proxy.mend()
        await recovered(engine)
        async with engine.subscribe("c") as messages:
            await engine.publish("c", b"2")
            assert await asyncio.wait_for(anext(messages), 10) == b"2"


@pytest.mark.night
async def test_cancelled_callers_leave_their_answers_to_nobody(connect: Connect) -> None:
    engine = await connect()
    for number in range(50):
        await engine.put(f"k{number}", str(number).encode(), ttl_ms=60_000)

    async def read(number: int) -> bool:
        return await engine.get(f"k{number}") == str(number).encode()

    for round_number in range(20):
        reads = [asyncio.create_task(read(number)) for number in range(50)]
        for _ in range(round_number % 7):
            await CLOCK.sleep_ms(0)
        for number, task in enumerate(reads):
            if (number + round_number) % 3 == 0:
                task.cancel()
        ended = await asyncio.gather(*reads, return_exceptions=True)
        assert all(each is True or isinstance(each, asyncio.CancelledError) for each in ended)


@pytest.mark.night
async def test_a_production_that_outlives_the_server_is_still_an_answer_here(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()

    async def produce() -> bytes:
        server.kill()
        return b"v"

    assert await engine.single_flight("k", produce, ttl_ms=1000, lock_ms=1000) == b"v"


@pytest.mark.night
async def test_a_former_primary_is_neither_written_nor_read_and_the_new_one_is_another_memory(
    server: StateServer, connect: Connect
) -> None:
    with state_server("--replicaof", "127.0.0.1", str(server.port)) as replica:
        async with partition(server.port) as proxy:
            engine = await connect(proxy.url)
            await engine.put("k", b"old", ttl_ms=60_000)
            grant = await engine.acquire_weight("ip", "order", 800, limit=1000, now_ms=MIDDLE_MS)
            assert grant
            before = engine.epoch
            while "800" not in replica.command("HGET", f"{{mcp-binance}}:weight:ip:{MIDDLE_MS // 60_000}", "total"):
                await CLOCK.sleep_ms(20)

            replica.command("REPLICAOF", "NO", "ONE")
            server.command("REPLICAOF", "127.0.0.1", str(replica.port))
            demoted_ms = CLOCK.monotonic_ms()
            # No write is needed to find out: the pulse does.
            while set((await outcomes(engine, READS)).values()) != {"unavailable"}:
                assert CLOCK.monotonic_ms() - demoted_ms < 3_000
                await CLOCK.sleep_ms(50)
            with pytest.raises(EngineUnavailable):
                await engine.put("k", b"new", ttl_ms=60_000)
            proxy.lead_to(replica.port)

            await recovered(engine)
            assert engine.epoch != before
            # The copy may have missed the last charges: the minute counts as full.
            assert not await engine.acquire_weight("ip", "order", 1, limit=1000, now_ms=MIDDLE_MS)


@pytest.mark.night
async def test_after_the_loss_of_all_memory_old_leases_are_lost_and_tokens_rise(
    server: StateServer, connect: Connect
) -> None:
    engine = await connect()
    before = engine.epoch
    old = await engine.lease("books", "a", ttl_ms=60_000)
    server.kill()
    server.start_empty()
    await recovered(engine)

    server.command("FLUSHALL")
    assert await engine.put_fenced("book", b"1", lease=old, ttl_ms=100) is Fenced.LOST
    new = await engine.lease("books", "b", ttl_ms=1500)

    assert engine.epoch != before
    assert int(new.token) > int(old.token)
    assert await engine.put_fenced("book", b"1", lease=old, ttl_ms=100) is Fenced.STALE
