"""Histories of a fleet that loses its state server now and then, played on a real one."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal

from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import CallKind, Grant, Reserves
from mcp_binance_server.state.redis.keys import Reply, Script, Word
from mcp_binance_server.state.redis.limits import SharedLedger
from mcp_binance_server.state.redis.link import Link, StateAddress
from mcp_binance_server.state.redis.local_budget import AHEAD_MINUTES
from mcp_binance_server.state.redis.memory import Memory
from mcp_binance_server.state.weight import EDGE_MS, MINUTE_MS
from support.clock import FakeClock
from support.state_server import StateServer, show_time

LIMIT = 1_000
MOST_PROCESSES = 40
STEPS = 100
# What a process believes of the exchange's time, and how long a call is on its way: together within a second.
WRONG_MS, TRAVEL_MS = 650, 300
START_MS = 29_743_202 * MINUTE_MS
DAY_MS = 86_400_000
Break = Literal["", "asks", "answers"]


class BreakingLink(Link):
    """A link on which the questions, or only the answers, can get lost."""

    broken: Break = ""

    async def call(self, operation: str, *command: Word, script: Script | None = None, probe: bool = False) -> Reply:
        if self.broken == "asks":
            raise EngineUnavailable(operation=operation)
        reply = await super().call(operation, *command, script=script, probe=probe)
        if self.broken == "answers":
            raise EngineUnavailable(operation=operation)
        return reply


class Member:
    """One process, with clocks of its own."""

    def __init__(self, name: int, server: StateServer, chance: Random, edge_ms: int) -> None:
        self.name = name
        self.clock = FakeClock(chance.randrange(START_MS))
        self.wrong_ms = chance.choice((-WRONG_MS, 0, WRONG_MS, chance.randint(-WRONG_MS, WRONG_MS)))
        self.memory = Memory(self.clock)
        self.link = BreakingLink(StateAddress.parse(server.url), self.clock, self.memory.greet, call_secs=60)
        self.ledger = SharedLedger(self.link, self.memory, self.clock, Reserves.none(), edge_ms=edge_ms)
        self.stop_ends_ms = 0

    async def pulse(self, stop_ends_ms: int) -> None:
        """Do what a process does by itself twice a second, and hear of a stop that the server knows of."""
        try:
            await self.memory.ask(self.link)
            self.stop_ends_ms = max(self.stop_ends_ms, stop_ends_ms)
            await self.ledger.local.renew()
        except EngineUnavailable:
            pass

    async def ask(self, kind: CallKind, cost: int, now_ms: int) -> Grant | None:
        believed_ms = now_ms + self.wrong_ms
        try:
            return await self.ledger.acquire("ip", kind, cost, limit=LIMIT, now_ms=believed_ms, local_limit=LIMIT)
        except EngineUnavailable:
            return None


@dataclass
class History:
    """What became of one fleet."""

    server: StateServer
    shown: Path
    seed: int
    edge_ms: int = EDGE_MS
    now_ms: int = START_MS + 30_000
    arrived: Counter[int] = field(default_factory=Counter[int])
    """By minute, as the exchange counts."""
    local: Counter[int] = field(default_factory=Counter[int])
    local_of: Counter[tuple[int, int]] = field(default_factory=Counter[tuple[int, int]])
    """By minute and process."""
    spent_while_stopped: int = 0
    refused: int = 0
    """Reads that found neither the server nor a promise."""

    @property
    def clock_steps(self) -> bool:
        """Whether the server's clock is set now and then; in the other histories it is asked when a stop is over.

        A server whose clock is set forward forgets what a minute has cost, so there only the local part is to hold.
        """
        return self.seed % 2 == 0

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)
        self._members: list[Member] = []
        self._joined = 0
        self._most = self._chance.choice((1, 3, 9, 10, 12, MOST_PROCESSES))
        self._server_ahead_ms = 0
        self._stop_ends_ms = 0

    async def play(self) -> None:
        self.server.command("FLUSHALL")
        self._show()
        for _ in range(self._chance.randint(1, self._most)):
            await self._join()
        for _ in range(AHEAD_MINUTES + 2):
            await self._pass(MINUTE_MS)  # a new memory promises nothing before
        for _ in range(STEPS):
            await self._step()
        for each in self._members:
            await each.link.close()

    async def _step(self) -> None:
        chance = self._chance
        await chance.choices(
            (self._wait, self._spend, self._spend_all, self._join, self._leave, self._break, self._part, self._mend,
             self._empty, self._step_clock, self._stop),
            weights=(24, 10, 6, 6, 3, 4, 4, 5, 1, 2, 2),
        )[0]()  # fmt: skip

    async def _wait(self) -> None:
        into_ms = self.now_ms % MINUTE_MS
        to_edge_ms = MINUTE_MS - into_ms + self._chance.randint(-900, 900)
        await self._pass(self._chance.choice((500, 20_000, MINUTE_MS, max(1, to_edge_ms), max(1, to_edge_ms))))

    async def _pass(self, wait_ms: int) -> None:
        self.now_ms += wait_ms
        for each in self._members:
            each.clock.advance(wait_ms)
        self._show()
        for each in self._members:
            if self._chance.random() < 0.9:
                await each.pulse(self._stop_ends_ms)

    async def _join(self) -> None:
        if len(self._members) < self._most:
            self._joined += 1
            member = Member(self._joined, self.server, self._chance, self.edge_ms)
            self._members.append(member)
            await member.pulse(self._stop_ends_ms)
            await self._charge(member, await member.ask("public", 1, self.now_ms), 1)

    async def _leave(self) -> None:
        if len(self._members) > 1:
            gone = self._members.pop(self._chance.randrange(len(self._members)))
            await gone.link.close()

    async def _break(self) -> None:
        for each in self._members:
            each.link.broken = "asks"

    async def _part(self) -> None:
        for each in self._members:
            if self._chance.random() < 0.3:
                each.link.broken = self._chance.choice(("asks", "answers"))

    async def _mend(self) -> None:
        for each in self._members:
            each.link.broken = ""
            each.clock.set_wall(self._chance.randrange(START_MS))
            await each.pulse(self._stop_ends_ms)

    async def _empty(self) -> None:
        veterans = [each for each in self._members if not each.link.broken]
        if veterans:
            self.server.command("FLUSHALL")
            self._stop_ends_ms = 0
            # One who knew what was lost is there, and first: what else can happen docs/fleet.md says.
            await veterans[0].pulse(self._stop_ends_ms)
            await self._charge(veterans[0], await veterans[0].ask("public", 1, self.now_ms), 1)

    async def _step_clock(self) -> None:
        if self.clock_steps:
            self._server_ahead_ms += self._chance.choice((-3_600_000, 3_600_000, 2 * DAY_MS))
            self._show()

    async def _stop(self) -> None:
        told = self._chance.choice(self._members)
        if not self.clock_steps and not told.link.broken:
            ms = self._chance.choice((30_000, 120_000))
            ends_ms = self.now_ms + await told.ledger.stop("ip", ms=ms, reason="HTTP 429")
            self._stop_ends_ms = told.stop_ends_ms = ends_ms

    async def _spend(self) -> None:
        await self._spend_greedily(self._chance.choice(self._members))

    async def _spend_all(self) -> None:
        for each in self._members:
            await self._spend_greedily(each)

    async def _spend_greedily(self, member: Member) -> None:
        for cost in (300, 70, 9, 4, 1):
            while await self._charge(member, await member.ask("public", cost, self.now_ms), cost):
                pass

    async def _charge(self, member: Member, grant: Grant | None, cost: int) -> bool:
        if grant is None:
            self.refused += 1
            return False
        minute = (self.now_ms + self._chance.randint(0, TRAVEL_MS)) // MINUTE_MS
        if grant.reason == "forgotten" and grant.retry_ms == 0:
            # What the minute has cost is asked by a call that nobody books.
            self.arrived[minute] += 1
            await member.ledger.recall("ip", self.arrived[minute], minute=minute)
        if not grant:
            return False
        self.arrived[minute] += cost
        if grant.is_local:
            self.local[minute] += cost
            self.local_of[minute, member.name] += cost
            self.spent_while_stopped += cost if self.now_ms < member.stop_ends_ms else 0
        return True

    def _show(self) -> None:
        show_time(self.shown, self.now_ms + self._server_ahead_ms)
