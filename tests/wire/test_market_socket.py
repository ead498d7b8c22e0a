"""The market socket: what it sends, when it waits, how it hands over; over real sockets where framing matters."""

import socket
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise
from random import Random

import anyio
import msgspec
import pytest
import uvicorn

from binance_simulator.control import build_app
from binance_simulator.exchange import SimulatedExchange
from binance_simulator.faults import Fault, StreamFault
from mcp_binance_server.clock import SystemClock
from mcp_binance_server.exchange.dialing import ATTEMPTS_MS, MOST_ATTEMPTS, NetworkDialer, Pacer
from mcp_binance_server.exchange.spot.streams import NAMES_A_MESSAGE, MarketSocket
from support.scripted import ScriptedDialer
from support.stepped import SteppedClock, settled

pytestmark = pytest.mark.anyio

DEPTH = "btcusdt@depth@100ms"
URL = "ws://exchange.test/stream"


class Heard:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.opened: list[frozenset[str]] = []
        self.lost: list[frozenset[str]] = []

    def on_event(self, stream: str, data: msgspec.Raw) -> None:
        assert bytes(data).startswith(b"{")
        self.events.append(stream)

    def on_opened(self, names: Iterable[str]) -> None:
        self.opened.append(frozenset(names))

    def on_lost(self, names: Iterable[str]) -> None:
        self.lost.append(frozenset(names))


@asynccontextmanager
async def scripted(
    names: Iterable[str] = (DEPTH,),
) -> AsyncGenerator[tuple[MarketSocket, ScriptedDialer, SteppedClock]]:
    clock, dialer = SteppedClock(), ScriptedDialer(URL)
    market = MarketSocket(URL, dialer, Pacer(clock, Random(1)), clock, Heard(), Random(1), set(names))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(market.run)
        await settled()
        yield market, dialer, clock
        tasks.cancel_scope.cancel()


async def pass_time(clock: SteppedClock, duration_ms: float) -> None:
    await clock.run(duration_ms, lambda: None)


async def test_many_names_go_out_in_few_messages_and_not_more_than_four_a_second() -> None:
    names = [f"s{place}@depth@100ms" for place in range(2 * NAMES_A_MESSAGE + 1)]
    async with scripted(names) as (market, dialer, clock):
        (connection,) = dialer.connections
        assert len(connection.sent) == 1
        await pass_time(clock, 1_000)
        assert len(connection.sent) == 3
        assert sorted(name for message in connection.sent for name in message["params"]) == sorted(names)

        market.unsubscribe(names[:3])
        market.subscribe(["new@depth@100ms"])
        await pass_time(clock, 1_000)
        added, dropped = connection.sent[3:]
        assert (added["method"], added["params"]) == ("SUBSCRIBE", ["new@depth@100ms"])
        assert (dropped["method"], sorted(dropped["params"])) == ("UNSUBSCRIBE", sorted(names[:3]))
        assert len({message["id"] for message in connection.sent}) == 5


@pytest.mark.parametrize(
    "notice",
    [b'{"e":"serverShutdown","E":1}', b'{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1}}'],
)
async def test_a_notice_opens_the_successor_before_the_old_connection_is_left(notice: bytes) -> None:
    async with scripted() as (market, dialer, clock):
        (old,) = dialer.connections
        old.say(notice)
        await settled()
        _, new = dialer.connections
        assert new.sent[0]["params"] == [DEPTH]
        assert not old.is_closed
        await pass_time(clock, 2_000)

        assert (old.is_closed, new.is_closed) == (True, False)
        assert isinstance(market.listener, Heard)
        assert market.listener.lost == []


async def test_a_lost_connection_is_reported_once_and_opened_again() -> None:
    async with scripted() as (market, dialer, clock):
        dialer.connections[0].cut()
        await settled()
        assert isinstance(market.listener, Heard)
        assert market.listener.lost == [{DEPTH}]
        assert not market.is_open
        await pass_time(clock, 1_500)

        assert len(dialer.connections) == 2
        assert market.is_open


async def test_what_cannot_be_read_is_counted_and_the_rest_goes_on() -> None:
    async with scripted() as (market, dialer, _):
        (connection,) = dialer.connections
        for text in (b"\xff", b"[]", b'{"stream":5}', b'{"code":2,"msg":"Invalid request"}', b'{"result":null,"id":1}'):
            connection.say(text)
        connection.say(b'{"stream":"btcusdt@depth@100ms","data":{"u":1}}')
        await settled()

        assert isinstance(market.listener, Heard)
        assert market.listener.events == [DEPTH]
        assert (market.counts.unreadable, market.counts.refused) == (3, 1)


async def test_quiet_symbols_are_asked_about_ever_more_rarely() -> None:
    async with scripted() as (market, dialer, clock):
        for _ in range(20):
            await pass_time(clock, 60_000)
        # 30 s, 60 s, 120 s, 240 s, 480 s, then every ten minutes: never a loss, never a storm.
        assert 4 <= len(dialer.connections) <= 7
        assert isinstance(market.listener, Heard)
        assert market.listener.lost == []


async def test_no_more_attempts_than_the_exchange_allows() -> None:
    clock = SteppedClock()
    pacer = Pacer(clock, Random(1))
    done = list[float]()

    async def hurry() -> None:
        for _ in range(3 * MOST_ATTEMPTS):
            await pacer.wait(0)
            done.append(clock.monotonic_ms())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hurry)
        await clock.run(3 * ATTEMPTS_MS, lambda: None, step_ms=1_000)
    for place, at_ms in enumerate(done):
        assert sum(at_ms <= other < at_ms + ATTEMPTS_MS for other in done[place:]) <= MOST_ATTEMPTS


async def test_connections_that_fail_together_are_tried_once_a_second() -> None:
    clock = SteppedClock()
    pacer = Pacer(clock, Random(1))
    tried = list[float]()

    async def fail_on() -> None:
        for failures in range(1, 8):
            await pacer.wait(failures)
            tried.append(clock.monotonic_ms())

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(fail_on)
        await clock.run(120_000, lambda: None, step_ms=50)

    assert len(tried) == 35
    assert min(later - before for before, later in pairwise(tried)) >= 1_000


@asynccontextmanager
async def served(exchange: SimulatedExchange) -> AsyncGenerator[str]:
    config = uvicorn.Config(build_app(exchange), lifespan="off", log_config=None, loop="none")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()[:2]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(server.serve, sockets=[listener]))
            yield f"ws://{host}:{port}/stream"
            server.should_exit = True


async def until(reached: Callable[[], object]) -> None:
    with anyio.fail_after(20):
        while not reached():  # noqa: ASYNC110 - the other side is a real socket
            await anyio.sleep(0.01)  # noqa: TID251


@pytest.mark.night
async def test_over_a_real_socket_events_arrive_a_cut_is_mended_and_nothing_is_left() -> None:
    exchange = SimulatedExchange(SystemClock())
    heard = Heard()
    async with served(exchange) as url:
        clock = SystemClock()
        market = MarketSocket(url, NetworkDialer(), Pacer(clock, Random(1)), clock, heard, Random(1), {DEPTH})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(market.run)
            await until(lambda: len(heard.events) >= 3)
            exchange.hub.faults.add(StreamFault(kind="cut", stream=DEPTH))
            await until(lambda: heard.lost)
            before = len(heard.events)
            await until(lambda: len(heard.events) >= before + 3)
            assert exchange.hub.open_connections == 1
            tasks.cancel_scope.cancel()
        await until(lambda: exchange.hub.open_connections == 0)
    assert set(heard.events) == {DEPTH}


async def test_a_refused_handshake_is_no_more_than_a_failed_attempt() -> None:
    exchange = SimulatedExchange(SystemClock())
    exchange.faults.add(Fault(kind="status", status=403, body="<html>no</html>", times=1))
    async with served(exchange) as url:
        with pytest.raises(OSError, match="refused"):
            await NetworkDialer().connect(url)
        connection = await NetworkDialer().connect(url)
        await connection.close()
