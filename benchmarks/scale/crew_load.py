"""Loads on one port with several workers: what a cached page costs, and how many calls were passed on."""

import asyncio
import re
from contextlib import ExitStack
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

from mcp_binance_server.sessions.model import giver_of
from scale.real_fleet import yardstick_ms
from support.state_server import StateServer
from support.workers import Surroundings, children, http_server
from worker_load import Line, cpu_secs, questions

SETTLE_SECS, ROUND_SECS, ROUNDS = 0.5, 1.2, 8
_SESSION = re.compile(rb"mcp-session-id: (\S+)")


@dataclass(frozen=True, slots=True)
class Crew:
    """So many workers, so many connections in all, and whether each connection has its own session."""

    workers: int
    connections: int
    is_own: bool = True

    def __str__(self) -> str:
        return f"{self.workers}x{self.connections}"


@dataclass(frozen=True, slots=True)
class CrewSeen:
    """What one round used."""

    call_ms: float
    commands_a_call: float
    calls_a_second: float
    passed_on: float
    """The share of calls that came to another worker than the one with their session."""


@dataclass(frozen=True, slots=True)
class _Started:
    port: int
    pids: list[int]


def crews_seen(around: Surroundings, crews: tuple[Crew, ...]) -> tuple[dict[Crew, list[CrewSeen]], list[float]]:
    """Load every crew in turn, again and again; return every round, and strokes of the yardstick."""
    rounds: dict[Crew, list[CrewSeen]] = {crew: [] for crew in crews}
    strokes = list[float]()
    with ExitStack() as stack:
        started: dict[int, _Started] = {}
        for workers in sorted({crew.workers for crew in crews}):
            ours = http_server(around, "--workers", str(workers), MCP_BINANCE_SESSION_CAP="100000")
            process, port = stack.enter_context(ours)
            started[workers] = _Started(port, children(process.pid) or [process.pid])
        for _ in range(ROUNDS):
            for crew in crews:
                strokes.append(yardstick_ms())
                rounds[crew].append(asyncio.run(_loaded(crew, started[crew.workers], around.state)))
        return rounds, strokes


def middle(seen: list[CrewSeen]) -> CrewSeen:
    """Return the medians of all rounds, and the mean of what was passed on."""
    return CrewSeen(
        call_ms=median(each.call_ms for each in seen),
        commands_a_call=median(each.commands_a_call for each in seen),
        calls_a_second=median(each.calls_a_second for each in seen),
        passed_on=sum(each.passed_on for each in seen) / len(seen),
    )


def relay_ms(rounds: dict[Crew, list[CrewSeen]]) -> float:
    """Return what passing on a call costs: how much dearer rounds were, against the share that was passed on."""
    pairs = [
        (each.passed_on, each.call_ms - middle(rounds[replace(crew, is_own=True)]).call_ms)
        for crew, seen in rounds.items()
        if not crew.is_own
        for each in seen
    ]
    return sum(share * more for share, more in pairs) / sum(share**2 for share, _ in pairs)


async def _loaded(crew: Crew, ours: _Started, state: StateServer) -> CrewSeen:
    # All at once, as clients come: one after the other they would all be taken by the worker that wakes first.
    lines = await asyncio.gather(*(Line().open(ours.port) for _ in range(crew.connections)))
    asked = await questions("own session" if crew.is_own else "any session", lines)
    done = 0

    async def call(line: Line, sent: bytes, until: float) -> None:
        nonlocal done
        while perf_counter() < until:
            status, _ = await line.ask(sent)
            if status != 200:
                raise SystemExit(f"a call was answered with {status}")
            done += 1

    async def all_call(seconds: float) -> None:
        until = perf_counter() + seconds
        await asyncio.gather(*(call(line, sent, until) for line, sent in zip(lines, asked, strict=True)))

    await all_call(SETTLE_SECS)
    done, began, cpu, commands = 0, perf_counter(), cpu_secs(ours.pids), state.commands()
    await all_call(ROUND_SECS)
    cpu, secs, commands = cpu_secs(ours.pids) - cpu, perf_counter() - began, state.commands() - commands
    for line in lines:
        line.close()
    share = 0.0 if crew.is_own else _passed_on(asked, crew.workers)
    return CrewSeen(1000 * cpu / done, commands / done, done / secs, share)


def _passed_on(asked: list[bytes], workers: int) -> float:
    """Each question names the session that the next connection has opened, and its id says in which worker."""
    named = [found[1].decode() for each in asked if (found := _SESSION.search(each))]
    homes = [giver_of(each, workers) for each in named]
    return sum(home != before for home, before in zip(homes, [homes[-1], *homes], strict=False)) / len(homes)
