"""Where a fleet fills: 10,000, 100,000 and 1,000,000 sessions simulated from measured costs.

    python benchmarks/scale/sizes.py [--sessions 10000 100000 1000000] [--seed 1] [--costs FILE]
    python benchmarks/scale/sizes.py --check [--check-sessions 2000] [--servers 4] [--pause 10] [--addresses]

`--check` runs a real fleet on this machine, about two minutes, and prints it beside what the simulation says of it; it
ends with 1 when a judged number is further off than 20 %. `measure.py` writes the costs.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "scripts", "tests")]

from scale.costs import FILE, PACE_MS, Costs, load_costs  # noqa: E402 - found by the line above
from scale.crews import crew_lines  # noqa: E402 - likewise
from scale.exchange_side import ways  # noqa: E402 - likewise
from scale.fleet import Outcome, simulate  # noqa: E402 - likewise
from scale.plan import (  # noqa: E402 - likewise
    best_fleet,
    bills,
    fleet_for,
    for_connections,
    full_engine,
    full_process,
    memory_gib,
)
from scale.shape import Shape  # noqa: E402 - likewise

SECONDS = 30
# One part of a large fleet has about so many processes; they share nothing but the engine.
PART = 4
BEYOND = (0.9, 1.1)
TOLERATED = 1.2


def say(*lines: str) -> None:
    """Print."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def simulated(shape: Shape, costs: Costs, seed: int) -> Outcome:
    """Simulate a fleet, a large one by one of its equal parts."""
    parts = max(1, shape.processes // PART)
    while shape.processes % parts:
        parts -= 1
    return simulate(shape.part(parts), costs, seed=seed, seconds=SECONDS)


def rows(sessions: int, costs: Costs, seed: int) -> list[str]:
    """Return the table of one size."""
    kinds = [(1, fleet_for(sessions, costs)), best_fleet(sessions, costs)]
    lines = [
        f"{sessions:,} sessions",
        "| | every process reads every symbol | readers of a symbol together |",
        "|-|-|-|",
    ]
    cells = [
        _cells(groups, shape, costs, seed) if shape else [("processes", "none suffices")] for groups, shape in kinds
    ]
    for name, said in cells[1]:
        lines.append(f"| {name} | {dict(cells[0]).get(name, '')} | {said} |")
    reads = 60 / costs.private_pause_secs
    for way in ways(reads):
        addresses = way.addresses(sessions, costs.stream_life_secs / 60)
        begin = way.minutes_to_begin(sessions, max(1, round(addresses + 0.5)))
        lines.append(f"accounts, {way.name}: {addresses:.1f} addresses, {begin:,.0f} minutes to begin on these")
    cheapest = ways(reads)[2]
    shape = kinds[1][1]
    assert shape is not None
    for bill in bills(shape, costs, cheapest.addresses(sessions, costs.stream_life_secs / 60)):
        each = bill.usd / sessions * 1_000
        lines.append(
            f"{bill.instance}: {bill.machines} machines, {bill.machines_usd:,.0f} + {bill.addresses_usd:,.0f} + "
            f"{bill.traffic_usd:,.0f} USD a month (machines, addresses, traffic); {each:,.2f} for 1,000 sessions, "
            f"{each * costs.busiest:,.2f} for 1,000 active users"
        )
    return lines


def _cells(groups: int, shape: Shape, costs: Costs, seed: int) -> list[tuple[str, str]]:
    seen, asked = simulated(shape, costs, seed), shape.demand(costs)
    return [
        ("groups of processes, processes", f"{groups}, {shape.processes}"),
        ("calls a second", f"{asked.calls_a_second:,.0f}"),
        ("a process's core", f"{seen.process:.0%}, of which books {asked.books:.0%}"),
        ("the engine's core", f"{seen.engine:.1%}"),
        ("engine commands a second", f"{asked.commands_a_second:,.0f}"),
        ("processes for connections without a balancer", f"{for_connections(shape)}"),
        ("memory of processes, GiB", f"{memory_gib(shape, costs):,.1f}"),
        ("places in the engine, MB", f"{shape.sessions * costs.place_bytes / 1e6:,.1f}"),
        ("a call, p50 and p99, ms", f"{seen.p50_ms:.1f}, {seen.p99_ms:.1f}"),
    ]


def saturation(costs: Costs, seed: int) -> list[str]:
    """Say which part is full at how many sessions, and show by simulation that it is."""
    lines = list[str]()
    for symbols in (40, round(costs.symbols)):
        full = full_process(costs, symbols)
        for beyond in BEYOND if full > 0 else ():
            shape = Shape(round(full * beyond), 1, costs.pause_secs, symbols)
            seen = simulate(shape, costs, seed=seed, seconds=SECONDS)
            lines.append(_filled(f"one process, {symbols} symbols", shape.sessions, seen.process, seen))
        if full <= 0:
            lines.append(f"one process, {symbols} symbols: full of books alone")
    for groups in (1, 2, 8, 32):
        full = full_engine(costs, groups)
        for beyond in BEYOND if full else ():
            shape = fleet_for(round(full * beyond), costs, groups=groups)
            if shape is not None:
                seen = simulated(shape, costs, seed)
                name = f"the engine, {groups} groups, {shape.processes} processes"
                lines.append(_filled(name, shape.sessions, seen.engine, seen))
    for way in ways(60 / costs.private_pause_secs):
        keys = way.most_keys(costs.stream_life_secs / 60)
        lines.append(f"one address, accounts {way.name}: full at {keys:,.0f} sessions")
    return lines


def _filled(name: str, sessions: int, used: float, seen: Outcome) -> str:
    return f"{name}: {sessions:,} sessions use {used:.0%}; p50 {seen.p50_ms:,.1f} ms, p99 {seen.p99_ms:,.0f} ms"


def check(given: argparse.Namespace, costs: Costs) -> bool:
    """Print a real run beside its simulation; whether every judged number is near enough."""
    from scale.check import again, checked
    from scale.real_fleet import Load

    load = Load(given.check_sessions, given.pause, given.seconds, given.addresses)
    if given.again:
        seen, found = again(given.again, costs)
    else:
        seen, found = checked(given.servers, given.symbols, load, costs, given.keep)
    say(
        f"others used {seen.others:.2f} cores; {seen.yardstick_ms / PACE_MS:.2f} times as slow as the pace of the costs"
    )
    say(f"{seen.failed} calls failed; {seen.slow_on_the_minute:.0%} of the slowest began around a whole minute")
    for row in found:
        verdict = "" if not row.is_judged else "  ok" if row.within(TOLERATED) else "  OFF"
        say(f"{row.name:45} real {row.real:9.3f}  simulated {row.foretold:9.3f}  ratio {row.ratio:5.2f}{verdict}")
    return all(row.within(TOLERATED) for row in found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sessions", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--costs", type=Path, default=FILE)
    options.add_argument("--check", action="store_true")
    options.add_argument("--check-sessions", type=int, default=2_000)
    options.add_argument("--servers", type=int, default=4)
    options.add_argument("--symbols", type=int, default=40)
    options.add_argument("--pause", type=float, default=10)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--addresses", action="store_true", help="each session has an address of its own")
    options.add_argument("--keep", type=Path, help="write what the real run used into this file")
    options.add_argument("--again", type=Path, help="with --check: such a file in place of a real run")
    given = options.parse_args()
    costs = load_costs(given.costs)
    if given.check:
        sys.exit(0 if check(given, costs) else 1)
    for sessions in given.sessions:
        say(*rows(sessions, costs, given.seed), "")
    say(*saturation(costs, given.seed), "", *crew_lines(costs))


if __name__ == "__main__":
    main()
