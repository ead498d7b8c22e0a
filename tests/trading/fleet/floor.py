"""Two workers of one account in this process: a journal each, one shared state, one simulated exchange."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio.lowlevel

from binance_simulator.exchange import SimulatedExchange
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Reserves
from mcp_binance_server.state.memory import MemoryEngine
from mcp_binance_server.trading.desk import Placed
from mcp_binance_server.trading.fleet.keeper import FleetKeeper, KeeperPace
from mcp_binance_server.trading.fleet.ledger import FleetLedger
from mcp_binance_server.trading.journal.records import NewIntent
from mcp_binance_server.trading.judgement.charges import charges
from mcp_binance_server.trading.judgement.policy import Policy, read_policy
from support.clock import FakeClock
from trading.spot_floor import SpotFloor, spot_floor

TICK_MS = KeeperPace().tick_ms
LIMITS = """
[limits]
symbols = ["BTCUSDT"]
per_day = "300"
orders_per_minute = 50
"""


class Forgetful(MemoryEngine):
    """A state that can be emptied, and be away."""

    is_away = False

    @property
    def epoch(self) -> str:
        return f"{super().epoch}-{self.emptied}"

    emptied = 0

    def empty(self) -> None:
        self.emptied += 1
        for each in (self._accounts, self._shelves, self._newest_tokens, self._pools):
            each.clear()

    def __getattribute__(self, name: str) -> object:
        if name in AWAY and object.__getattribute__(self, "is_away"):
            raise EngineUnavailable(operation=name)
        return object.__getattribute__(self, name)


AWAY = frozenset(
    {"reserve", "depart", "tell", "recount", "account_book", "find_claim", "stop_account", "shelved", "on_shelf", "put"}
)


@dataclass(frozen=True)
class Worker:
    """A server of the fleet."""

    floor: SpotFloor
    keeper: FleetKeeper
    policy: Policy

    @property
    def ledger(self) -> FleetLedger:
        return self.keeper.ledger

    async def place(self, new: NewIntent) -> Placed:
        return await self.floor.desk.place(new, charges(new.terms, self.policy, new.way), None)

    async def ticks(self, secs: float) -> None:
        """Let time pass, and the worker do what it does beside its orders."""
        for _ in range(int(secs * 1_000 / TICK_MS)):
            await self.beats()
            await self.keeper.tick()
            if self.keeper.everybody is not None:
                await self.keeper.everybody.tick()
            self.floor.clock.advance(TICK_MS)
            await anyio.lowlevel.checkpoint()

    async def beats(self) -> None:
        await self.ledger.engine.put(f"trading-worker:{self.ledger.owner}", b"1", ttl_ms=3_000)

    async def ready(self) -> None:
        while self.floor.desk.waits_for:
            await self.ticks(TICK_MS / 1_000)
            for _ in range(20):
                await anyio.lowlevel.checkpoint()


@dataclass
class Fleet:
    """What all workers share."""

    folder: Path
    exchange: SimulatedExchange
    clock: FakeClock
    engine: Forgetful
    policy: Policy

    @asynccontextmanager
    async def worker(self, name: str) -> AsyncGenerator[Worker]:
        folder = self.folder / name
        floor = spot_floor(folder, self.exchange, self.clock, shared=self.engine, policy=self.policy)
        async with floor as started:
            assert started.keeper is not None
            worker = Worker(started, started.keeper, self.policy)
            await worker.ready()
            yield worker


def fleet_in(folder: Path, limits: str = LIMITS) -> Fleet:
    clock = FakeClock()
    engine = Forgetful(clock, reserves=Reserves.none())
    return Fleet(folder, SimulatedExchange(clock, seed=7), clock, engine, read_policy(limits.encode()))
