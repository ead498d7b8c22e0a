"""Thresholds from text, as a user writes them into the environment; and back, for what an answer says of them."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.tunable import ORDERED, TUNABLE, Knob
from mcp_binance_server.errors import SettingsError

Simple = int | float | Decimal | tuple[float, ...]

_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?", re.ASCII)
_HEADING = ("| Variable | Default | May be | Decides |", "|---|---|---|---|")


class ChangedThreshold(NamedTuple):
    """A threshold that is not the default, and what that would be."""

    name: str
    value: str
    default: str


def tuned(given: Mapping[str, str], *, prefix: str) -> Thresholds:
    """Return the thresholds with those changed that variables of this prefix name.

    Raises:
        SettingsError: a name or a value is wrong; the message names variables, never values.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for variable, text in sorted(given.items()):
        name = variable.removeprefix(prefix).lower()
        if name not in TUNABLE or variable != prefix + name.upper():
            problems.append(f"{variable}: there is no such threshold{_meant(name, prefix)}")
            continue
        try:
            values[name] = _read(text, getattr(DEFAULTS, name), TUNABLE[name])
        except ValueError as error:
            problems.append(f"{variable}: {error}")
    thresholds = DEFAULTS if problems else replace(DEFAULTS, **values)
    problems += _contradictions(thresholds, prefix)
    if problems:
        raise SettingsError(problems=tuple(problems))
    return thresholds


def changes(thresholds: Thresholds) -> tuple[ChangedThreshold, ...]:
    """Return what differs from the defaults, in the order of the table."""
    pairs = ((name, getattr(thresholds, name), getattr(DEFAULTS, name)) for name in TUNABLE)
    return tuple(ChangedThreshold(name, _written(now), _written(usual)) for name, now, usual in pairs if now != usual)


def threshold_table(prefix: str) -> str:
    """Return the table of every variable as the documentation prints it."""
    rows = (
        f"| `{prefix}{name.upper()}` | `{_written(default)}` | {_allowed(default, knob)} | {knob.meaning} |"
        for name, knob in TUNABLE.items()
        for default in (getattr(DEFAULTS, name),)
    )
    return "\n".join((*_HEADING, *rows))


def plain_number(value: float | Decimal) -> str:
    """Write a number with the digits it has: `4`, `3.5`, `50000`."""
    return f"{Decimal(str(value)).normalize():f}"


def _read(text: str, default: Simple, knob: Knob) -> Simple:
    problem = f"must be {_allowed(default, knob)}"
    if not isinstance(default, tuple):
        return type(default)(_number(text, knob, problem, is_whole=isinstance(default, int)))
    edges = tuple(float(_number(each, knob, problem)) for each in text.split(","))
    if len(edges) != len(default) or any(low >= high for low, high in pairwise(edges)):
        raise ValueError(problem)
    return edges


def _number(text: str, knob: Knob, problem: str, *, is_whole: bool = False) -> Decimal:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        raise ValueError(problem)
    value = Decimal(text)
    if not Decimal(str(knob.low)) <= value <= Decimal(str(knob.high)) or (is_whole and value % 1):
        raise ValueError(problem)
    return value


def _allowed(default: Simple, knob: Knob) -> str:
    span = f"from {plain_number(knob.low)} to {plain_number(knob.high)}"
    if isinstance(default, tuple):
        return f"{len(default)} rising numbers {span}, separated by commas"
    return f"{'a whole number' if isinstance(default, int) else 'a number'} {span}"


def _written(value: Simple) -> str:
    return ",".join(map(plain_number, value)) if isinstance(value, tuple) else plain_number(value)


def _meant(name: str, prefix: str) -> str:
    # Of use to those alone who mistyped: not worth loading at every start.
    from difflib import get_close_matches  # noqa: PLC0415

    close = get_close_matches(name, TUNABLE, 1)
    return f"; {prefix}{close[0].upper()} is one" if close else ""


def _contradictions(thresholds: Thresholds, prefix: str) -> list[str]:
    problems = [
        f"{prefix}{low.upper()}: must not be more than {prefix}{high.upper()}"
        for low, high in ORDERED
        if getattr(thresholds, low) > getattr(thresholds, high)
    ]
    if thresholds.fresh_ms == thresholds.dead_ms:
        problems.append(f"{prefix}FRESH_MS: must be less than {prefix}DEAD_MS")
    if thresholds.wall_min_neighbours > 2 * thresholds.wall_neighbours:
        problems.append(f"{prefix}WALL_MIN_NEIGHBOURS: must not be more than twice {prefix}WALL_NEIGHBOURS")
    return problems
