"""Measure what the simulation is made of, and write it down: one machine, smaller runs than those it predicts.

    python benchmarks/scale/measure.py [--part books] [--part workers] [--anew]

Takes about five minutes; each part alone about two and a half. Numbers are medians of all runs so far. What is
assumed stays in the file as it is.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / folder) for folder in ("benchmarks", "scripts", "tests")]

from fleet_load import CALLS  # noqa: E402 - found by the line above
from scale.costs import FILE, PACE_MS, Numbers, Written  # noqa: E402 - likewise
from scale.crew_load import Crew, crews_seen, middle, relay_ms  # noqa: E402 - likewise
from scale.real_fleet import Load, RealFleet, Seen, real_fleet  # noqa: E402 - likewise
from scale.visitors import Heard, Visitor  # noqa: E402 - likewise
from support.state_server import StateServer  # noqa: E402 - likewise
from support.workers import http_server, surroundings  # noqa: E402 - likewise
from worker_load import cpu_secs, session_kib  # noqa: E402 - likewise

SYMBOLS = 40
IDLE_SECS, LOADED_SECS, KIND_CALLS = 20, 25, 200
# Calls at a pace at which a client's connection is closed between two of them, as in the run that is predicted.
SMALL = Load(sessions=400, pause_secs=10, seconds=LOADED_SECS)
SESSIONS = 2_000
# In the order in which crews.py reads them.
OWN = (Crew(1, 16), Crew(2, 16), Crew(4, 16), Crew(1, 4), Crew(2, 8), Crew(2, 32))
ANY = (Crew(2, 32, is_own=False), Crew(4, 16, is_own=False))


async def books() -> Written:
    """Measure live books, calls over them, and what both ask of the engine, with one server and with two."""
    async with real_fleet(1, SYMBOLS) as alone:
        empty = await alone.idle(IDLE_SECS / 2)
        await alone.warm()
        idle = await alone.idle(IDLE_SECS)
        kinds = [await _kind_ms(alone, place) for place in range(len(CALLS))]
        loaded = await alone.under(SMALL)
        book_mib = alone.memory_mib()
    async with real_fleet(2, SYMBOLS) as pair:
        two_empty = await pair.idle(IDLE_SECS / 2)
        empty_mib = pair.memory_mib()
        await pair.warm()
        both = await pair.idle(IDLE_SECS)
        both_loaded = await pair.under(SMALL)
    calls = loaded.calls_a_second
    # The machine is not equally fast at all times: what Python does is brought to one pace.
    empty_core, alone_core, loaded_core = (each.servers[0] * _to_pace(each) for each in (empty, idle, loaded))
    followed, leading = (each * _to_pace(both) - empty_core for each in sorted(both.servers))
    # An engine that is seldom asked finds its caches cold: what it costs is measured under calls. It is no Python.
    command_us = 1e6 * loaded.engine / loaded.commands_a_second
    engine_more = both_loaded.engine - both_loaded.commands_a_second * command_us / 1e6
    commands_more = both.commands_a_second - idle.commands_a_second - two_empty.commands_a_second / 2
    return {
        "process_ms": (1000 * empty_core, "ms of CPU a second, a process without books"),
        "led_symbol_ms": (1000 * (alone_core - empty_core) / SYMBOLS, "ms of CPU a second, where nobody follows"),
        "led_for_others_symbol_ms": (1000 * leading / SYMBOLS, "ms of CPU a second, with a follower"),
        "followed_symbol_ms": (1000 * followed / SYMBOLS, "ms of CPU a second"),
        "call_ms": (1000 * (loaded_core - alone_core) / calls, "ms of CPU, over live books"),
        "call_kinds_ms": (kinds, "ms of CPU, kind by kind, on a connection that stays open"),
        "call_commands": (
            max(0.0, loaded.commands_a_second - idle.commands_a_second) / calls,
            "engine commands a call",
        ),
        "process_commands": (two_empty.commands_a_second / 2, "engine commands a second and process"),
        "led_symbol_commands": ((idle.commands_a_second - empty.commands_a_second) / SYMBOLS, "a second"),
        "followed_symbol_commands": (max(0.0, commands_more) / SYMBOLS, "a second"),
        "engine_command_us": (command_us, "µs of the engine's CPU"),
        "engine_follower_us": (
            1e6 * max(0.0, engine_more) / SYMBOLS,
            "µs of the engine's CPU a second, follower and symbol",
        ),
        "exchange_symbol_ms": (
            1000 * idle.exchange * _to_pace(idle) / SYMBOLS,
            "ms of the simulated exchange's CPU a second",
        ),
        "client_ms": (
            1000 * (loaded.clients * _to_pace(loaded) - idle.clients * _to_pace(idle)) / calls,
            "ms of the load's own CPU a call",
        ),
        "answer_kb": (loaded.answer_kb, "kB of JSON a call, without heads"),
        "process_mib": (median(empty_mib), "MiB"),
        "book_mib": ((book_mib[0] - median(empty_mib)) / SYMBOLS, "MiB a symbol and process, some minutes old"),
    }


def _to_pace(seen: Seen) -> float:
    return PACE_MS / seen.yardstick_ms


async def _kind_ms(fleet: RealFleet, place: int) -> float:
    tool, arguments = CALLS[place]
    visitor = Visitor(fleet.ports[0], Heard())
    await visitor.open()
    before = cpu_secs([*fleet.pids])
    for number in range(KIND_CALLS):
        await visitor.call(tool, {"symbol": fleet.symbols[number % SYMBOLS], **arguments})
    visitor.close()
    return 1000 * (cpu_secs([*fleet.pids]) - before) / KIND_CALLS


def used_bytes(state: StateServer) -> int:
    """Return what the engine holds."""
    return int(state.command("INFO", "memory").partition("used_memory:")[2].partition("\r")[0])


def workers() -> Written:
    """Measure a cached page with 1, 2 and 4 workers, with the same connections in all and with the same for each."""
    with surroundings() as around:
        rounds, strokes = crews_seen(around, (*OWN, *ANY))
        with http_server(around, MCP_BINANCE_SESSION_CAP="100000") as (process, port):
            before = used_bytes(around.state)
            kib = asyncio.run(session_kib(port, process.pid, SESSIONS))
            places = (used_bytes(around.state) - before) / (SESSIONS + 100)
    own, others = [middle(rounds[crew]) for crew in OWN], [middle(rounds[crew]) for crew in ANY]
    pace = PACE_MS / median(strokes)
    of_own, of_others = (f"workers x connections: {', '.join(map(str, crews))}" for crews in (OWN, ANY))
    return {
        "own_page_ms": ([each.call_ms * pace for each in own], f"ms of CPU; {of_own}"),
        "own_page_commands": ([each.commands_a_call for each in own], f"engine commands a call; {of_own}"),
        "own_page_rate": ([each.calls_a_second for each in own], f"calls a second; {of_own}"),
        "any_page_ms": ([each.call_ms * pace for each in others], f"ms of CPU; {of_others}"),
        "any_page_passed_on": ([each.passed_on for each in others], f"share of calls; {of_others}"),
        "relay_ms": (
            relay_ms(rounds),
            "ms of CPU that a call costs more which is passed on, from two and four workers",
        ),
        "session_kib": (kib, "KiB"),
        "place_bytes": (places, "bytes of the engine, a session"),
    }


PARTS: dict[str, Callable[[], Written]] = {"books": lambda: asyncio.run(books()), "workers": workers}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--part", choices=PARTS, action="append", default=[])
    options.add_argument("--anew", action="store_true", help="forget earlier runs; else medians of all count")
    options.add_argument("--file", type=Path, default=FILE)
    given = options.parse_args()
    for part in given.part or PARTS:
        by = f"python benchmarks/scale/measure.py --part {part}"
        found = PARTS[part]()
        kept: dict[str, dict[str, Any]] = json.loads(given.file.read_text(encoding="utf-8"))
        for name, (value, unit) in found.items():
            before: list[Numbers] = [] if given.anew else kept.get(name, {}).get("runs", [])
            runs = [*before, _rounded(value)]
            kept[name] = {"value": _middle(runs), "unit": unit, "by": by, "on": date.today().isoformat(), "runs": runs}  # noqa: DTZ011
        given.file.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(value: Numbers) -> Numbers:
    return [round(each, 4) for each in value] if isinstance(value, list) else round(value, 4)


def _middle(runs: list[Numbers]) -> Numbers:
    """Return the median of all runs, place by place."""
    lists = [each for each in runs if isinstance(each, list)]
    if lists:
        return [round(median(each), 4) for each in zip(*lists, strict=True)]
    return round(median(each for each in runs if not isinstance(each, list)), 4)


if __name__ == "__main__":
    main()
