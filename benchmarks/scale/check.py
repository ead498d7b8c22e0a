"""A real run beside what the simulation says of it, from costs that were measured in other and smaller runs."""

import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scale.costs import Costs
from scale.fleet import Outcome, simulate
from scale.real_fleet import Load, Seen, real_fleet
from scale.shape import Shape

IDLE_SECS_OF_SESSIONS = 600
MACHINE_CORES = 2


@dataclass(frozen=True, slots=True)
class Row:
    """One number, as it was and as it was foretold."""

    name: str
    real: float
    foretold: float
    is_judged: bool

    @property
    def ratio(self) -> float:
        return self.foretold / self.real if self.real else 1.0

    def within(self, factor: float) -> bool:
        return not self.is_judged or 1 / factor <= self.ratio <= factor


async def really(servers: int, symbols: int, load: Load) -> Seen:
    """Start such a fleet on this machine, load it and watch it."""
    async with real_fleet(servers, symbols) as fleet:
        await fleet.warm()
        return await fleet.under(load)


def foretell(servers: int, symbols: int, load: Load, costs: Costs, seen: Seen) -> Outcome:
    """Simulate the same fleet; of the real run it is told only what the machine was like: how fast, how busy."""
    shape = Shape(
        sessions=load.sessions,
        processes=servers,
        pause_secs=load.pause_secs,
        symbols=symbols,
        is_led_by_one=True,
        place_secs=IDLE_SECS_OF_SESSIONS,
        cores=MACHINE_CORES,
        hogs=seen.others,
        is_beside=True,
    )
    return simulate(shape, costs.at_pace(seen.yardstick_ms), seconds=load.seconds)


def compared(seen: Seen, told: Outcome) -> list[Row]:
    """Put both side by side; how long calls take is shown, and not judged."""
    followers_seen, followers_told = seen.servers[1:], told.processes[1:]
    rows = [
        Row("calls a second", seen.calls_a_second, told.calls_a_second, is_judged=True),
        Row("cores of all servers", sum(seen.servers), sum(told.processes), is_judged=True),
        Row("core of the one that leads", seen.servers[0], told.processes[0], is_judged=True),
    ]
    if followers_seen:
        real, foretold = (sum(each) / len(each) for each in (followers_seen, followers_told))
        rows.append(Row("core of one that follows", real, foretold, is_judged=True))
    cpu = (1000 * sum(each) / rate for each, rate in (
        (seen.servers, seen.calls_a_second), (told.processes, told.calls_a_second)
    ))  # fmt: skip
    rows.append(Row("CPU a call with its part of the books, ms", *cpu, is_judged=True))
    rows.append(Row("engine commands a second", seen.commands_a_second, told.commands_a_second, is_judged=True))
    rows.append(Row("core of the engine", seen.engine, told.engine, is_judged=True))
    rows.append(Row("core of the exchange", seen.exchange, told.exchange, is_judged=False))
    rows.append(Row("core of the clients", seen.clients, told.clients, is_judged=False))
    rows.append(Row("p50 of a call, ms", seen.p50_ms, told.p50_ms, is_judged=False))
    rows.append(Row("p99 of a call, ms", seen.p99_ms, told.p99_ms, is_judged=False))
    return rows


def again(kept: Path, costs: Costs) -> tuple[Seen, list[Row]]:
    """Foretell a run that was kept in a file once more, as with costs that were measured since."""
    told: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
    told["seen"]["servers"] = tuple(told["seen"]["servers"])
    seen = Seen(**told["seen"])
    outcome = foretell(told["servers"], told["symbols"], Load(**told["load"]), costs, seen)
    return seen, compared(seen, outcome)


def checked(servers: int, symbols: int, load: Load, costs: Costs, kept: Path | None = None) -> tuple[Seen, list[Row]]:
    """Run it, foretell it, compare; what was seen can be kept in a file."""
    seen = asyncio.run(really(servers, symbols, load))
    if kept is not None:
        told = {"servers": servers, "symbols": symbols, "load": asdict(load), "seen": asdict(seen)}
        kept.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    return seen, compared(seen, foretell(servers, symbols, load, costs, seen))
