"""The calls of a busy user's day, the same in every run."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

HOUR_MS = 3_600_000
CALLS_OF_A_SESSION = (3, 8)
# Between the calls of a session; longer than any answer of ours is shared.
PAUSE_MS = (2_000, 4_000)


@dataclass(frozen=True, slots=True)
class DayCall:
    """One call: when, what, and about which of the symbols."""

    at_ms: int
    step: str
    symbol: int


@dataclass(frozen=True, slots=True)
class Day:
    """The steps of a day, as our server is asked for them, and its calls, the first one first."""

    asked: Mapping[str, Mapping[str, Any]]
    symbols: int
    hours: int
    calls: tuple[DayCall, ...]

    def only(self, steps: frozenset[str]) -> tuple[DayCall, ...]:
        """Return the calls of these steps, each at its own time."""
        return tuple(call for call in self.calls if call.step in steps)


def read_day() -> Day:
    """Read the day from day.toml and draw its calls."""
    described = tomllib.loads(Path(__file__).with_name("day.toml").read_text(encoding="utf-8"))
    steps: dict[str, dict[str, Any]] = described["steps"]
    draw = Random(described["seed"])
    shares = {name: step["share"] for name, step in steps.items()}
    calls = _drawn(draw, described, shares)
    return Day({name: step["ours"] for name, step in steps.items()}, described["symbols"], described["hours"], calls)


def shortened(calls: tuple[DayCall, ...], longest_break_ms: int) -> tuple[DayCall, ...]:
    """Return the same calls with shorter breaks between sessions; within a session nothing changes."""
    found: list[DayCall] = []
    before_ms = at_ms = 0
    for call in calls:
        gap_ms, before_ms = call.at_ms - before_ms, call.at_ms
        at_ms += min(gap_ms, longest_break_ms)
        found.append(DayCall(at_ms, call.step, call.symbol))
    return tuple(found)


def _drawn(draw: Random, described: Mapping[str, Any], shares: Mapping[str, int]) -> tuple[DayCall, ...]:
    sessions = _sessions(draw, described["calls"])
    spoken_ms = sum(map(sum, sessions))
    free_ms = described["hours"] * HOUR_MS - spoken_ms
    starts = sorted(draw.randrange(free_ms) for _ in sessions)
    popularity = [1 / (rank + 1) for rank in range(described["symbols"])]
    calls: list[DayCall] = []
    passed_ms = 0
    for start, pauses in zip(starts, sessions, strict=True):
        about = draw.choices(range(described["symbols"]), popularity, k=draw.choice((1, 1, 2)))
        steps = draw.choices(list(shares), list(shares.values()), k=len(pauses))
        for step, pause_ms in zip(steps, pauses, strict=True):
            calls.append(DayCall(start + passed_ms, step, draw.choice(about)))
            passed_ms += pause_ms
    return tuple(calls)


def _sessions(draw: Random, calls: int) -> list[list[int]]:
    """Return the pauses of each session, one after each of its calls."""
    sessions: list[list[int]] = []
    while calls:
        size = min(calls, draw.randint(*CALLS_OF_A_SESSION))
        sessions.append([draw.randint(*PAUSE_MS) for _ in range(size)])
        calls -= size
    return sessions
