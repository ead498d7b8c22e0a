"""A clock that only a test moves, and a live market that runs as many simulated seconds as a test asks for."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sized
from contextlib import asynccontextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

import anyio
import anyio.lowlevel
from anyio._backends import _asyncio as anyio_threads
from mcp import Client, types

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.exchange.dialing import Dialer
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.settings import read_settings
from support.desk import NETWORK, Loop

STREAMED = Network(NETWORK.name, NETWORK.rest_url, NETWORK.help_url, stream_url="ws://exchange.test")
BUCKET_MS = 100
AnswerT = TypeVar("AnswerT")


class SteppedClock:
    """Time that stands still until `advance`. Sleeping tasks wake when their time has come."""

    def __init__(self, now_ms: int = 1_784_592_123_456) -> None:
        self._began_ms = now_ms
        self._passed_ms = 0.0
        self._sleepers: list[tuple[float, int, anyio.Event]] = []
        self._order = count()

    def now_ms(self) -> int:
        return int(self._began_ms + self._passed_ms)

    def monotonic_ms(self) -> float:
        return self._passed_ms

    async def sleep_ms(self, duration_ms: float) -> None:
        if duration_ms <= 0:
            await anyio.lowlevel.checkpoint()
            return
        woken = anyio.Event()
        heappush(self._sleepers, (self._passed_ms + duration_ms, next(self._order), woken))
        await woken.wait()

    async def sleep_until_ms(self, monotonic_ms: float) -> None:
        await self.sleep_ms(monotonic_ms - self._passed_ms)

    def advance(self, duration_ms: float) -> None:
        """Advance the time, and wake the tasks whose time has come."""
        self._passed_ms += duration_ms
        while self._sleepers and self._sleepers[0][0] <= self._passed_ms:
            heappop(self._sleepers)[2].set()

    async def run(self, duration_ms: float, each: Callable[[], object], *, step_ms: float = BUCKET_MS) -> None:
        """Advance the time in steps. After each step all tasks run as far as they can."""
        await settled()
        for _ in range(round(duration_ms / step_ms)):
            self.advance(step_ms)
            each()
            await settled()


async def settled() -> None:
    """Wait until every task waits for something that only the test can bring.

    `anyio.wait_all_tasks_blocked` would do, but sleeps a tenth of a second each time.
    """
    ready: Sized = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    await anyio.lowlevel.cancel_shielded_checkpoint()
    while ready or _threads_at_work():
        if not ready:  # a thread works in real time, whatever our clock says
            with anyio.CancelScope(shield=True):
                await asyncio.sleep(0.001)  # noqa: TID251
        await anyio.lowlevel.cancel_shielded_checkpoint()


def _threads_at_work() -> int:
    # Whichever limiter they count for: the journal has one of its own.
    try:
        return len(anyio_threads._threadpool_workers.get()) - len(anyio_threads._threadpool_idle_workers.get())  # pyright: ignore[reportPrivateUsage]
    except LookupError:
        return 0


@dataclass(frozen=True, slots=True)
class LiveMarket:
    """A server with streams on a simulated exchange, a client of it, and the one way to let time pass for all."""

    clock: SteppedClock
    exchange: SimulatedExchange
    app: App
    client: Client

    @property
    def feed(self) -> SymbolFeed:
        """The one symbol that is streamed."""
        hub = self.app.context.live.hub
        assert hub is not None
        (watched,) = hub.watched()
        return watched.feed

    async def run(self, seconds: float) -> None:
        """Let simulated time pass in the steps in which the exchange speaks."""
        await self.clock.run(seconds * 1000, self.exchange.hub.wake)

    async def watch(self, symbol: str, seconds: float) -> None:
        """Begin to stream a symbol and let it run."""
        await self.client.call_tool("get_order_flow", {"symbol": symbol})
        await self.run(seconds)

    async def answered(self, ask: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Ask, and let time pass until there is an answer: who tries again sleeps first."""
        answers: list[AnswerT] = []

        async def asked() -> None:
            answers.append(await ask())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked)
            await settled()
            while not answers:
                await self.run(BUCKET_MS / 1000)
        return answers[0]

    async def page(self, prompt: str, **arguments: str) -> str:
        """Return the text of a prompt."""
        (message,) = (await self.client.get_prompt(prompt, arguments)).messages
        assert isinstance(message.content, types.TextContent)
        return message.content.text

    def asked(self) -> list[str]:
        """Return the calls the exchange got since last time, by name."""
        names = [request.path.removeprefix("/api/v3/") for request in self.exchange.requests]
        self.exchange.requests.clear()
        return names


@asynccontextmanager
async def live_market(
    scenario: str = "market",
    *,
    era: str = "auto",
    seed: int = 7,
    network: Network = STREAMED,
    environment: Mapping[str, str] | None = None,
    dialer: Callable[[SimulatedExchange], Dialer] = Loopback,
    preload: bool = False,
    clock: SteppedClock | None = None,
) -> AsyncGenerator[LiveMarket]:
    """Serve a scenario with its streams, moved by hand; it begins at the usual moment or at that of a clock."""
    clock = clock or SteppedClock()
    exchange = SimulatedExchange(clock, seed=seed, scenario=scenario)
    exchange.hub.by_hand = True
    async with (
        running_app(
            read_settings(environment or {}),
            clock=clock,
            network=network,
            transport=Loop(exchange),
            dialer=dialer(exchange),
            preload=preload,
        ) as app,
        Client(app.server, mode=era, cache=None) as client,
    ):
        yield LiveMarket(clock, exchange, app, client)
