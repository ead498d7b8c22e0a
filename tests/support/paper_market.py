"""A server that trades on paper, its users' clients, and the one way to let time pass for all of them."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client

from binance_simulator.exchange import SimulatedExchange
from binance_simulator.streams.loopback import Loopback
from mcp_binance_server.app import App, running_app
from mcp_binance_server.exchange.dialing import Dialer
from mcp_binance_server.exchange.endpoints import Network
from mcp_binance_server.settings import read_settings
from support.desk import Loop
from support.stepped import STREAMED, SteppedClock, settled

AnswerT = TypeVar("AnswerT")

STEP_MS, LOOK_SECS = 50, 0.0005
FILE = "trading.db"
# Two minutes after midnight: what was placed before this day does not count for its limits.
NOW_MS = 1_784_592_123_456


@dataclass(frozen=True, slots=True)
class World:
    """An exchange, and the one clock of all: it goes on while servers come and go."""

    clock: SteppedClock
    exchange: SimulatedExchange


def new_world(now_ms: int = NOW_MS, seed: int = 7) -> World:
    """Make an exchange that only a test moves."""
    clock = SteppedClock(now_ms)
    exchange = SimulatedExchange(clock, seed=seed)
    exchange.hub.by_hand = True
    return World(clock, exchange)


@dataclass
class PaperMarket:
    """Everything in one process: exchange, server, and a clock that only a test moves."""

    clock: SteppedClock
    exchange: SimulatedExchange
    app: App
    folder: Path
    clients: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def join(self, era: str, **more: Any) -> Client:  # noqa: ANN401 - options of the SDK's client
        """Return a client of the local user."""
        return await self.clients.enter_async_context(Client(self.app.server, mode=era, cache=None, **more))

    async def rest(self) -> None:
        """Wait until all tasks wait for the clock. The journal's thread works in real time."""
        trading = self.app.context.trading
        assert trading is not None
        lock = trading.desk.ledger.store.lock
        await settled()
        while lock.borrowed_tokens:
            await asyncio.sleep(LOOK_SECS)  # noqa: TID251
            await settled()

    async def run(self, seconds: float, step_ms: int = STEP_MS) -> None:
        """Let simulated time pass in small steps."""
        for _ in range(round(seconds * 1000 / step_ms)):
            await self.rest()
            self.clock.advance(step_ms)
            self.exchange.hub.wake()
        await self.rest()

    async def answered(self, ask: Callable[[], Awaitable[AnswerT]]) -> AnswerT:
        """Ask, and let time pass until there is an answer, or a refusal."""
        answers: list[AnswerT] = []
        refusals: list[Exception] = []

        async def asked() -> None:
            try:
                answers.append(await ask())
            except Exception as error:  # noqa: BLE001 - the group would be cancelled, and nobody settles any more
                refusals.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked)
            await self.rest()
            while not answers and not refusals:
                await self.run(STEP_MS / 1000)
        if refusals:
            raise refusals[0]
        return answers[0]


@asynccontextmanager
async def paper_market(
    folder: Path,
    policy: str = "",
    *,
    now_ms: int = NOW_MS,
    seed: int = 7,
    environment: Mapping[str, str] | None = None,
    transport: Callable[[SimulatedExchange], Loop] = Loop,
    dialer: Callable[[SimulatedExchange], Dialer] = Loopback,
    network: Network = STREAMED,
    on: World | None = None,
) -> AsyncGenerator[PaperMarket]:
    """Serve a simulated market to a trading client, on paper unless stated otherwise, by an operator's rules."""
    world = on or new_world(now_ms, seed)
    clock, exchange = world.clock, world.exchange
    rules = folder / "trading.toml"
    rules.write_text(policy, encoding="utf-8")
    rules.chmod(0o600)
    settings = read_settings(
        {
            "MCP_BINANCE_TRADING": "paper",
            "MCP_BINANCE_TRADING_DIR": str(folder),
            "MCP_BINANCE_TRADING_POLICY": str(rules),
            **(environment or {}),
        }
    )
    async with running_app(
        settings, clock=clock, network=network, transport=transport(exchange), dialer=dialer(exchange), preload=False
    ) as app:
        market = PaperMarket(clock, exchange, app, folder)
        await market.run(0.2)
        async with market.clients:
            yield market


def rows(folder: Path, query: str, *given: object) -> list[tuple[Any, ...]]:
    """Read the journal past everything that is under test."""
    with closing(sqlite3.connect(f"file:{folder / FILE}?mode=ro", uri=True)) as db:
        return db.execute(query, given).fetchall()
