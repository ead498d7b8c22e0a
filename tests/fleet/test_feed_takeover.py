"""A process that leads a symbol dies or stands still: another takes over, and nothing old is ever taken for new."""

import json
import os
import signal
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import httpx2
import pytest
from anyio import to_thread

from mcp_binance_server.clock import SystemClock
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.dialing import NetworkDialer
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.state.engine import Fenced, Lease
from support.engine_calls import is_answered
from support.fleet_member import LEADS, Member, member
from support.process import Process
from support.state_server import Connect, StateServer

pytestmark = [pytest.mark.anyio, pytest.mark.flood]

BTC = Symbol("BTCUSDT")
CLOCK = SystemClock()
RUNS, RUNS_AT_SCALE = 3, 20
# Measured on a quiet machine: 1.26 to 1.48 s. A busy one is slower, but a stuck takeover never ends; who asks for the
# long run has a quiet one.
TAKEOVER_MS, TAKEOVER_MS_AT_SCALE = 30_000, 2_000


@pytest.fixture
def addresses() -> Iterator[dict[str, str]]:
    with Process("simulator", warm=True) as exchange:
        try:
            yield json.loads(exchange.line())
        finally:
            exchange.terminate()


@asynccontextmanager
async def leader(server: StateServer, addresses: dict[str, str]) -> AsyncGenerator[tuple[Process, Lease]]:
    """Run a process that leads the symbol."""
    with Process(server.url, addresses["rest"], addresses["streams"], BTC, code=LEADS, warm=True) as process:
        try:
            lines = [await to_thread.run_sync(process.line) for _ in range(2)]
            yield process, Lease(**json.loads(lines[1]))
        finally:
            process.kill()


@dataclass
class Reader:
    """Looks at a feed again and again, and notes what must never be seen."""

    feed: SymbolFeed
    seen: int = 0
    backward: int = 0
    too_old: int = 0
    _last: int = -1

    def look(self) -> bool:
        """Return whether a book can be shown that is fresh."""
        feed = self.feed
        if not feed.is_live:
            return False
        self.seen += 1
        self.backward += feed.book.last_update_id < self._last
        self._last = max(self._last, feed.book.last_update_id)
        return feed.age_ms(CLOCK.now_ms()) <= 500

    async def until_fresh(self) -> float:
        began = CLOCK.monotonic_ms()
        with anyio.fail_after(60):
            while not self.look():
                await CLOCK.sleep_ms(5)
        return CLOCK.monotonic_ms() - began


@asynccontextmanager
async def following(connect: Connect, addresses: dict[str, str]) -> AsyncGenerator[tuple[Member, Reader]]:
    network = Network("load", addresses["rest"], "", stream_url=addresses["streams"])
    async with member(await connect(), network, dialer=NetworkDialer(), clock=CLOCK) as one:
        with one.hub.reading(BTC) as feed:
            assert feed is not None
            reader = Reader(feed)
            await reader.until_fresh()
            yield one, reader


async def streams(addresses: dict[str, str]) -> dict[str, int]:
    async with httpx2.AsyncClient() as http:
        told: dict[str, int] = (await http.get(f"{addresses['rest']}/control/streams")).json()["streams"]
        return told


@pytest.mark.timeout(900)
async def test_a_killed_leader_is_replaced_and_no_book_goes_back(
    server: StateServer, connect: Connect, addresses: dict[str, str], scale: int
) -> None:
    took: list[float] = []
    for _ in range(RUNS if scale == 1 else RUNS_AT_SCALE):
        async with leader(server, addresses) as (process, lease), following(connect, addresses) as (one, reader):
            assert one.leader(BTC) is None
            process.kill()
            killed_ms = CLOCK.monotonic_ms()
            with anyio.fail_after(60):
                while (mine := one.leader(BTC)) is None or not reader.look():
                    await CLOCK.sleep_ms(5)
            took.append(CLOCK.monotonic_ms() - killed_ms)
            assert int(mine.lease.token) > int(lease.token)
            assert reader.backward == 0
    print("takeover, ms:", sorted(map(round, took)))  # noqa: T201 - a figure for whoever measures
    assert max(took) < (TAKEOVER_MS if scale == 1 else TAKEOVER_MS_AT_SCALE)


@pytest.mark.night
async def test_a_leader_that_stood_still_writes_nothing_more_and_leaves_its_streams(
    server: StateServer, connect: Connect, addresses: dict[str, str]
) -> None:
    async with leader(server, addresses) as (process, old), following(connect, addresses) as (one, reader):
        key = f"feeds:{one.hub.url}:{BTC}"
        stolen = await one.engine.get(key)
        assert stolen is not None
        os.kill(process.pid, signal.SIGSTOP)
        with anyio.fail_after(60):
            while one.leader(BTC) is None or not reader.look():
                await CLOCK.sleep_ms(5)
        refused = [await one.engine.put_fenced(key, b"late", lease=old, ttl_ms=60_000) for _ in range(20)]
        assert set(refused) == {Fenced.STALE}
        os.kill(process.pid, signal.SIGCONT)
        with anyio.fail_after(60):
            while set((await streams(addresses)).values()) != {1}:
                reader.look()
                await CLOCK.sleep_ms(50)

        assert one.leader(BTC) is not None
        assert reader.backward == 0
        # The same write without a fence lands in the place of the newest page; who reads it refuses it all the same.
        await one.engine.put(key, stolen, ttl_ms=60_000)
        assert await one.engine.get(key) == stolen


@pytest.mark.night
async def test_a_server_that_stood_still_is_followed_again(
    server: StateServer, connect: Connect, addresses: dict[str, str]
) -> None:
    async with leader(server, addresses), following(connect, addresses) as (one, reader):
        server.freeze()
        with anyio.fail_after(60):
            while await is_answered(one.engine):
                pass
        server.thaw()

        await reader.until_fresh()
        assert reader.backward == 0
