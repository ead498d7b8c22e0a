"""How many processes a population needs, what fills first, and what a month of it costs."""

import json
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from scale.costs import Costs, passed_on
from scale.shape import Shape

# A process is planned for half of a core: the rest is for the death of a neighbour, and for short waits.
PLANNED = 0.5
# The engine has no neighbour, and waits of milliseconds do no harm there.
ENGINE_PLANNED = 0.7
GROUPS = (1, 2, 4, 8, 16, 32, 64, 128)
# What a server accepts, and for how long an idle connection of a client stays open.
MOST_CONNECTIONS, KEPT_SECS = 800, 5
MOST_PROCESSES = 4_096
PRICES = Path(__file__).with_name("prices.json")
MINUTES_A_MONTH = 43_800
HEADS_KB = 0.4


def fleet_for(sessions: int, costs: Costs, *, groups: int = 1, planned: float = PLANNED) -> Shape | None:
    """Return the smallest fleet for so many sessions, or None if none suffices.

    With more than one group of processes each reads its part of the symbols alone, and calls are passed on to it.
    """
    # Calls alone need so many; books come on top.
    least = sessions / costs.pause_secs * costs.call_ms / 1000 / planned
    processes = max(1, int(least / groups)) * groups
    while processes <= MOST_PROCESSES:
        shape = Shape(
            sessions=sessions,
            processes=processes,
            pause_secs=costs.pause_secs,
            symbols=round(costs.symbols),
            readers=processes / groups,
            passed_on=passed_on(groups),
        )
        if shape.demand(costs).process <= planned:
            return shape
        processes += groups
    return None


def best_fleet(sessions: int, costs: Costs, *, planned: float = PLANNED) -> tuple[int, Shape]:
    """Return the number of groups with which the fewest processes suffice, and that fleet.

    An engine that can keep up comes first; where none of them has one, the least loaded.
    """
    found = [(groups, fleet_for(sessions, costs, groups=groups, planned=planned)) for groups in GROUPS]
    stands = [(groups, shape) for groups, shape in found if shape is not None]

    def rank(each: tuple[int, Shape]) -> tuple[float, int, int]:
        groups, shape = each
        return max(ENGINE_PLANNED, shape.demand(costs).engine), shape.processes, groups

    return min(stands, key=rank)


def for_connections(shape: Shape) -> int:
    """Return how many processes the connections of clients need, if no balancer shares them out."""
    return ceil(shape.sessions / shape.pause_secs * KEPT_SECS / MOST_CONNECTIONS)


def memory_gib(shape: Shape, costs: Costs) -> float:
    """Return what all processes hold: themselves, the books that each reads, and the sessions."""
    books = shape.symbols * (shape.readers or shape.processes) * costs.book_mib
    return (shape.processes * costs.process_mib + books + shape.sessions * costs.session_kib / 1024) / 1024


def full_process(costs: Costs, symbols: float) -> float:
    """Return how many sessions fill the core of the only process there is."""
    lone = Shape(sessions=0, processes=1, pause_secs=costs.pause_secs, symbols=round(symbols))
    return (1 - lone.demand(costs).process) * costs.pause_secs / (costs.call_ms / 1000)


def full_engine(costs: Costs, groups: int) -> int:
    """Return with how many sessions the engine's core is full, if the fleet grows with them; 0: processes end first."""
    low, high = 0, 100_000_000
    while high - low > max(1, low // 1_000):
        middle = (low + high) // 2
        shape = fleet_for(middle, costs, groups=groups)
        if shape is None or shape.demand(costs).engine >= 1:
            high = middle
        else:
            low = middle
    return low


@dataclass(frozen=True, slots=True)
class Bill:
    """A month of one population on one kind of machine."""

    instance: str
    machines: int
    machines_usd: float
    addresses_usd: float
    traffic_usd: float

    @property
    def usd(self) -> float:
        return self.machines_usd + self.addresses_usd + self.traffic_usd


def bills(shape: Shape, costs: Costs, addresses: float) -> list[Bill]:
    """Return what a month costs on each kind of machine: a core for each process, and one for the engine."""
    told = json.loads(PRICES.read_text(encoding="utf-8"))
    calls = shape.sessions / shape.pause_secs * 60 * MINUTES_A_MONTH * costs.average
    traffic_gb = calls * (costs.answer_kb + HEADS_KB) / 1e6
    found = list[Bill]()
    for each in told["instances"]:
        machines = max(ceil((shape.processes + 1) / each["cores"]), ceil(memory_gib(shape, costs) / each["gib"]))
        usd = machines * each["usd_an_hour"] * told["month_hours"]
        paid = ceil(addresses) * told["address_usd"]
        found.append(Bill(each["name"], machines, usd, paid, traffic_gb * told["traffic_usd_a_gb"]))
    return found


def scaled(costs: Costs, **factors: float) -> Costs:
    """Return costs of which some are so many times as large: what a change of the server would bring."""
    return replace(costs, **{name: float(getattr(costs, name)) * factor for name, factor in factors.items()})
