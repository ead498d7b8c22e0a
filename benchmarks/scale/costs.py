"""What everything costs: read from one file, where each number says who measured it, or why it is assumed."""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("costs.json")
Numbers = float | list[float]
Written = dict[str, tuple[Numbers, str]]
PACE_MS = 2.0
"""All of Python's times are those of a machine that needs so long for the yardstick."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Times are of a core; those of live books are a second, those of calls are a call."""

    process_ms: float
    led_symbol_ms: float
    led_for_others_symbol_ms: float
    followed_symbol_ms: float
    call_ms: float
    call_kinds_ms: tuple[float, ...]
    call_commands: float
    process_commands: float
    led_symbol_commands: float
    followed_symbol_commands: float
    engine_command_us: float
    engine_follower_us: float
    exchange_symbol_ms: float
    client_ms: float
    answer_kb: float
    process_mib: float
    book_mib: float
    own_page_ms: tuple[float, ...]
    any_page_ms: tuple[float, ...]
    own_page_commands: tuple[float, ...]
    own_page_rate: tuple[float, ...]
    any_page_passed_on: tuple[float, ...]
    relay_ms: float
    session_kib: float
    place_bytes: float
    # Assumed, as the file says.
    pause_secs: float
    private_pause_secs: float
    stream_life_secs: float
    symbols: float
    busiest: float
    average: float

    def kind_ms(self, place: int) -> float:
        """CPU of one kind of call, in proportion to the others and with the mean of all of them."""
        kinds = self.call_kinds_ms
        return kinds[place % len(kinds)] * len(kinds) / sum(kinds) * self.call_ms

    def at_pace(self, yardstick_ms: float) -> "Costs":
        """Return what all this costs on a machine, or at an hour, that needs so long for a fixed piece of work.

        The engine is no Python, and did not move with it.
        """
        slower = yardstick_ms / PACE_MS
        return replace(
            self,
            call_kinds_ms=tuple(slower * each for each in self.call_kinds_ms),
            **{name: slower * float(getattr(self, name)) for name in TIMES},
        )


TIMES = (
    "process_ms", "led_symbol_ms", "led_for_others_symbol_ms", "followed_symbol_ms", "call_ms", "exchange_symbol_ms",
    "client_ms", "relay_ms",
)  # fmt: skip


def passed_on(workers: int) -> float:
    """Return the share of calls that reach another worker than the one with their session, if chance deals them out."""
    return 1 - 1 / workers


def load_costs(file: Path = FILE) -> Costs:
    """Read the file.

    Raises:
        KeyError: a number is missing; `measure.py` writes those that are measured.
    """
    told: dict[str, dict[str, float | list[float]]] = json.loads(file.read_text(encoding="utf-8"))
    # pyright cannot know which fields are lists; the constructor's own types are those of the file.
    given: dict[str, Any] = {each.name: _value(told[each.name]["value"]) for each in fields(Costs)}
    return Costs(**given)


def _value(found: float | list[float]) -> float | tuple[float, ...]:
    return tuple(found) if isinstance(found, list) else found
