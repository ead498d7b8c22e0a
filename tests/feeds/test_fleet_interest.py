"""Who reads decides what is streamed: two hubs on one engine, on a clock that a test lets run."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.state.memory import MemoryEngine
from support.desk import Loop
from support.fleet_member import Member, member
from support.stepped import STREAMED, SteppedClock

pytestmark = pytest.mark.anyio

BTC = Symbol("BTCUSDT")
LINGER_MS = 15_000


class Pair:
    """Two members and the time of all."""

    def __init__(self, clock: SteppedClock, exchange: SimulatedExchange, first: Member, second: Member) -> None:
        self.clock, self.exchange, self.first, self.second = clock, exchange, first, second

    async def run(self, duration_ms: float, step_ms: float = 50) -> None:
        await self.clock.run(duration_ms, self.exchange.hub.wake, step_ms=step_ms)

    def streams(self) -> set[int]:
        return set(self.exchange.hub.streams().values())


@asynccontextmanager
async def pair() -> AsyncGenerator[Pair]:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    exchange.hub.by_hand = True
    engine = MemoryEngine(clock)

    def one() -> AbstractAsyncContextManager[Member]:
        return member(
            engine,
            STREAMED,
            transport=Loop(exchange),
            dialer=Loopback(exchange),
            clock=clock,
            linger_ms=LINGER_MS,
        )

    async with one() as first, one() as second:
        yield Pair(clock, exchange, first, second)
    await engine.close()


@pytest.mark.night
async def test_a_symbol_that_only_another_process_reads_is_kept_and_left_when_that_has_gone() -> None:
    async with pair() as both:
        with both.second.hub.reading(BTC) as followed:
            with both.first.hub.reading(BTC):
                await both.run(200)
            await both.run(2_000)
            assert followed is not None
            led, other = sorted((both.first, both.second), key=lambda each: each.leader(BTC) is None)
            assert other.leader(BTC) is None
            await both.run(4 * LINGER_MS, step_ms=200)

            assert both.streams() == {1}
            assert led.leader(BTC)
            assert followed.is_live
            assert followed.counts.lost == 0
        await both.run(LINGER_MS - 3_000, step_ms=200)
        assert both.streams() == {1}
        await both.run(LINGER_MS + 5_000, step_ms=200)

        assert both.streams() == set()
        assert both.first.hub.watched() == both.second.hub.watched() == []
        assert both.exchange.hub.open_connections == 0


async def test_nothing_is_streamed_before_somebody_reads() -> None:
    async with pair() as both:
        await both.run(5_000)

        assert both.exchange.hub.open_connections == 0


async def test_a_leader_without_room_gives_an_idle_symbol_to_who_reads_it() -> None:
    async with pair() as both:
        both.first.hub.most = 1
        with both.first.hub.reading(BTC):
            await both.run(2_000)
        assert both.first.leader(BTC)
        with both.second.hub.reading(BTC) as followed, both.first.hub.reading(Symbol("ETHUSDT")):
            await both.run(3_000)

            assert both.second.leader(BTC)
            assert followed is not None
            assert followed.is_live
            assert both.streams() == {1}


async def test_what_a_party_follows_elsewhere_takes_no_place_from_others_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_binance_server.feeds.readers.KEPT_MS", 5_000)
    async with pair() as both:
        both.first.hub.most = 2
        with acting_for("hog"), both.first.hub.reading(BTC):
            await both.run(2_000)
        with (
            acting_for("hog"),
            both.second.hub.reading(BTC) as followed,
            acting_for("ann"),
            both.first.hub.reading(Symbol("BNBUSDT")),
        ):
            await both.run(1_000)
            with both.first.hub.reading(Symbol("ETHUSDT")) as too_soon:
                assert too_soon is None
            await both.run(5_000, step_ms=500)
            assert both.first.leader(BTC)
            with both.first.hub.reading(Symbol("ETHUSDT")) as second:
                assert second is not None
                await both.run(3_000)

            assert both.second.leader(BTC)
            assert followed is not None
            assert followed.is_live
