"""Symbols that are followed without a reader: which, by whom, and what is said of those that cannot be."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.feeds.hub import Hub
from mcp_binance_server.services.live.following import Wish, following
from mcp_binance_server.services.live.learning import LEASE_MS, LOOK_MS, LearningService
from mcp_binance_server.settings import read_settings
from mcp_binance_server.state.engine import Lease
from mcp_binance_server.state.memory import MemoryEngine
from support.desk import Loop
from support.stepped import STREAMED, SteppedClock


@dataclass
class School:
    """A server on a clock that a test moves."""

    app: App
    exchange: SimulatedExchange
    clock: SteppedClock

    @property
    def hub(self) -> Hub:
        assert self.app.context.live.hub is not None
        return self.app.context.live.hub

    def followed(self) -> dict[str, int]:
        """Return how many read each symbol that is streamed."""
        return {str(each.feed.symbol): each.readers for each in self.hub.watched()}

    async def run(self, duration_ms: float) -> None:
        await self.clock.run(duration_ms, self.exchange.hub.wake, step_ms=min(duration_ms, 5_000))


@asynccontextmanager
async def school(symbols: str = "", *, preload: bool = True, **settings: str) -> AsyncGenerator[School]:
    clock = SteppedClock()
    exchange = SimulatedExchange(clock)
    exchange.hub.by_hand = True
    environment = {"MCP_BINANCE_LEARN_SYMBOLS": symbols, **settings}
    async with running_app(
        read_settings(environment),
        clock=clock,
        network=STREAMED,
        transport=Loop(exchange),
        dialer=Loopback(exchange),
        preload=preload,
    ) as app:
        yield School(app, exchange, clock)


async def test_named_symbols_are_streamed_before_anybody_asks_and_stay() -> None:
    async with school("btcusdt, ETHUSDT,btcusdt", MCP_BINANCE_FEED_LINGER_SECS="1") as market:
        for _ in range(5):
            await market.run(1_000)

        assert market.followed() == {"BTCUSDT": 1, "ETHUSDT": 1}
        feed = market.hub.peek(Symbol("BTCUSDT"))
        assert feed is not None
        assert feed.is_live
        assert feed.minutes.grid is not None


async def test_a_symbol_that_is_only_subscribed_to_is_learned_as_well() -> None:
    async with school() as market:
        wish = Wish(frozenset({"ticker"}), book_levels=0)
        async with following(market.app.context.live, ["BTCUSDT"], wish):
            feed = market.hub.peek(Symbol("BTCUSDT"))

            assert feed is not None
            assert feed.minutes.grid is not None


async def test_without_names_and_in_a_command_that_serves_nobody_nothing_is_streamed() -> None:
    for one in (school(), school("BTCUSDT", preload=False)):
        async with one as market:
            await market.run(2_000)

            assert market.followed() == {}


async def test_a_symbol_that_does_not_exist_or_trade_is_said_once_and_skipped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with school("BTCUSDT,NOSUCHUSDT") as market:
        rules = (await market.app.market.directory.table()).rules
        halted = next(each.symbol for each in rules.values() if not each.is_trading)
        learning = LearningService(market.app.context.live, MemoryEngine(market.clock), (halted.lower(),))
        async with learning.running():
            await market.run(3 * LOOK_MS)

        assert market.followed() == {"BTCUSDT": 1}

    said = sorted(each.getMessage() for each in caplog.records if "LEARN_SYMBOLS" in each.getMessage())
    assert len(said) == 2
    assert any("NOSUCHUSDT is skipped" in each for each in said)
    assert any(f"{halted} is skipped: it does not trade now" in each for each in said)


@pytest.mark.night
async def test_an_exchange_that_is_away_at_the_start_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with school(preload=False) as market:
        market.exchange.faults.add(Fault(kind="cut_before", times=None))
        learning = LearningService(market.app.context.live, MemoryEngine(market.clock), ("btcusdt",))
        async with learning.running():
            await market.run(LOOK_MS)
            assert market.followed() == {}
            assert "not learned yet" in caplog.text

            market.exchange.faults.clear()
            await market.run(4 * LOOK_MS)
            assert market.followed() == {"BTCUSDT": 1}


@pytest.mark.night
async def test_a_symbol_waits_for_room_and_is_taken_from_nobody(caplog: pytest.LogCaptureFixture) -> None:
    async with school(preload=False, MCP_BINANCE_FEED_SYMBOLS="1") as market:
        live = market.app.context.live
        await market.app.market.directory.table()
        with acting_for("somebody"), market.hub.reading(Symbol("ETHUSDT")):
            async with LearningService(live, MemoryEngine(market.clock), ("btcusdt",)).running():
                await market.run(2 * LOOK_MS)
                assert market.followed() == {"ETHUSDT": 1}

    assert "BTCUSDT is skipped: 1 symbols are streamed already" in caplog.text


async def test_a_stream_that_was_closed_is_opened_again() -> None:
    async with school("BTCUSDT") as market:
        await market.run(2_000)
        feed = market.hub.peek(Symbol("BTCUSDT"))
        assert feed is not None
        market.hub._stop(Symbol("BTCUSDT"))  # pyright: ignore[reportPrivateUsage] - as if it had made room

        await market.run(LOOK_MS)

        assert market.followed() == {"BTCUSDT": 1}
        assert market.hub.peek(Symbol("BTCUSDT")) is not feed


@pytest.mark.night
async def test_of_processes_that_share_an_engine_one_learns_and_the_other_when_it_has_gone() -> None:
    async with school(preload=False) as first, school(preload=False) as second:
        engine = MemoryEngine(first.clock)
        one, other = (LearningService(each.app.context.live, engine, ("btcusdt",)) for each in (first, second))
        async with other.running():
            await second.run(LOOK_MS)
            async with one.running():
                await first.run(2 * LOOK_MS)
                assert [market.followed() for market in (first, second)] == [{}, {"BTCUSDT": 1}]

                await first.run(LEASE_MS)  # the other has said nothing for as long as it was trusted
                assert first.followed() == {"BTCUSDT": 1}


class ForgetfulEngine(MemoryEngine):
    """An engine that is away, or gives the lease to somebody else, as a test says."""

    answer: str = "given"

    async def lease(self, name: str, owner: str, *, ttl_ms: int) -> Lease | None:
        if self.answer == "away":
            raise EngineUnavailable(operation="lease")
        return None if self.answer == "refused" else await super().lease(name, owner, ttl_ms=ttl_ms)


@pytest.mark.night
async def test_who_learns_goes_on_while_the_engine_is_away_and_stops_when_another_does() -> None:
    async with school(preload=False, MCP_BINANCE_FEED_LINGER_SECS="1") as market:
        engine = ForgetfulEngine(market.clock)
        async with LearningService(market.app.context.live, engine, ("btcusdt",)).running():
            await market.run(LOOK_MS)
            engine.answer = "away"
            await market.run(LEASE_MS)
            assert market.followed() == {"BTCUSDT": 1}

            engine.answer = "refused"
            await market.run(2 * LOOK_MS)
            assert market.followed() == {}
