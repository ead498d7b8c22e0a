"""Parser of scan conditions such as `rsi_14@1h < 30`, and of the columns to sort by and to show."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Literal, get_args

from mcp_binance_server.analytics.market.scan.column_table import (
    COLUMNS,
    SCAN_INTERVALS,
    ColumnSpec,
    ScanInterval,
    columns_of,
)
from mcp_binance_server.domain.board import BoardMarket
from mcp_binance_server.errors import InvalidArguments, echo

Operator = Literal["<", "<=", ">", ">="]
_COMPARE: Mapping[Operator, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
OPERATORS: tuple[Operator, ...] = get_args(Operator)
_OPERATORS: Mapping[str, Operator] = {each: each for each in OPERATORS}
_INTERVALS: Mapping[str | None, ScanInterval] = {each: each for each in SCAN_INTERVALS}
MOST_CONDITIONS = 8
LONGEST_CONDITION = 80
_NEAREST = 3
GRAMMAR = "column[@15m|1h|4h|1d] then < <= > or >= then a decimal number, such as rsi_14@1h < 30"

_SPACES = " \t"
_SPACE = f"[{_SPACES}]*"
_COLUMN = rf"([A-Za-z0-9_.]+){_SPACE}(?:@{_SPACE}([A-Za-z0-9]*))?"
# A number of this length without an exponent is finite, and its text is exact.
_CONDITION = re.compile(rf"{_SPACE}{_COLUMN}{_SPACE}([<>]=?){_SPACE}([+-]?[0-9]{{1,18}}(?:\.[0-9]{{1,18}})?){_SPACE}")
_REFERENCE = re.compile(rf"{_SPACE}{_COLUMN}{_SPACE}")


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column, and the candle interval if it has one."""

    column: str
    interval: ScanInterval | None = None

    @property
    def spec(self) -> ColumnSpec:
        return COLUMNS[self.column]

    def __str__(self) -> str:
        return self.column if self.interval is None else f"{self.column}@{self.interval}"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on one column. Pairs without a value do not match."""

    column: str
    interval: ScanInterval | None
    operator: Operator
    number: Decimal

    def __post_init__(self) -> None:
        if not self.number.is_finite():
            raise ValueError("the number in a condition must be finite")

    @property
    def ref(self) -> ColumnRef:
        return ColumnRef(self.column, self.interval)

    def holds(self, value: float | None) -> bool:
        """Return True if a value matches. None never matches."""
        return value is not None and isfinite(value) and _COMPARE[self.operator](value, float(self.number))

    def matching(self, places: Iterable[int], values: Sequence[float | None]) -> list[int]:
        """Return the positions whose values match, in their given order."""
        compare, number = _COMPARE[self.operator], float(self.number)
        return [
            place
            for place in places
            if (value := values[place]) is not None and compare(value, number) and isfinite(value)
        ]

    def __str__(self) -> str:
        return f"{self.ref} {self.operator} {self.number:f}"


@dataclass(frozen=True, slots=True)
class SortBy:
    """The column to sort by, largest or smallest first."""

    ref: ColumnRef
    largest_first: bool = True

    def __str__(self) -> str:
        return str(self.ref) if self.largest_first else f"-{self.ref}"


def read_condition(text: str, market: BoardMarket) -> Condition:
    """Parse one condition.

    Raises:
        InvalidArguments: the syntax is wrong, the column is unknown or not of this market, or its interval is missing.
    """
    return read_conditions((text,), market)[0]


def read_conditions(texts: Sequence[str], market: BoardMarket) -> tuple[Condition, ...]:
    """Parse all conditions of a scan, at most eight.

    Raises:
        InvalidArguments: lists every mistake in them.
    """
    if len(texts) > MOST_CONDITIONS:
        raise _refused([("where", f"at most {MOST_CONDITIONS} conditions, not {len(texts)}")])
    read: list[Condition] = []
    problems: list[tuple[str, str]] = []
    for text in texts:
        try:
            read.append(_condition(text, market))
        except ValueError as error:
            problems.append(("where", str(error)))
    if problems:
        raise _refused(problems)
    return tuple(read)


def read_sort(text: str, market: BoardMarket) -> SortBy:
    """Parse the sort order: `column` puts the largest first, `-column` the smallest.

    Raises:
        InvalidArguments: the column is not of this market, or its interval is missing.
    """
    stripped = text.strip(_SPACES)
    smallest_first = stripped.startswith("-")
    try:
        return SortBy(_read_reference(stripped.removeprefix("-"), market), largest_first=not smallest_first)
    except ValueError as error:
        raise _refused([("sort", str(error))]) from None


def read_columns(texts: Iterable[str], market: BoardMarket) -> tuple[ColumnRef, ...]:
    """Parse the columns to show, without duplicates.

    Raises:
        InvalidArguments: a column is not of this market, or its interval is missing.
    """
    read: list[ColumnRef] = []
    problems: list[tuple[str, str]] = []
    for text in texts:
        try:
            read.append(_read_reference(text, market))
        except ValueError as error:
            problems.append(("show", str(error)))
    if problems:
        raise _refused(problems)
    return tuple(dict.fromkeys(read))


def _condition(text: str, market: BoardMarket) -> Condition:
    found = _CONDITION.fullmatch(text) if len(text) <= LONGEST_CONDITION else None
    if found is None:
        raise ValueError(f"'{echo(text)}' is not a condition; write {GRAMMAR}")
    ref = _reference(found[1], found[2], market)
    return Condition(ref.column, ref.interval, _OPERATORS[found[3]], Decimal(found[4]) or Decimal(0))


def _read_reference(text: str, market: BoardMarket) -> ColumnRef:
    found = _REFERENCE.fullmatch(text) if len(text) <= LONGEST_CONDITION else None
    if found is None:
        raise ValueError(f"'{echo(text)}' is not a column; write COLUMN, or COLUMN@INTERVAL with 15m, 1h, 4h or 1d")
    return _reference(found[1], found[2], market)


def _reference(name: str, interval: str | None, market: BoardMarket) -> ColumnRef:
    column = name.lower()
    spec = COLUMNS.get(column)
    if spec is None:
        raise ValueError(f"unknown column {echo(name)}{_meant(column, market)}")
    if spec.perpetual_only and market != "perpetual":
        raise ValueError(f"{column} needs market=perpetual{_near(column, market)}")
    if not spec.takes_interval:
        if interval is not None:
            raise ValueError(f"{column} takes no interval: write {column}{_with_interval(column, market)}")
        return ColumnRef(column)
    known = _INTERVALS.get(interval)
    if known is None:
        problem = "needs an interval" if interval is None else f"has no interval {echo(interval)}"
        raise ValueError(f"{column} {problem}: write one of {', '.join(f'{column}@{each}' for each in SCAN_INTERVALS)}")
    return ColumnRef(column, known)


def _meant(column: str, market: BoardMarket) -> str:
    if near := _near(column, market):
        return near
    if elsewhere := nearest_columns(column, "perpetual"):
        return f"; with market=perpetual: {', '.join(elsewhere)}"
    return f"; the columns are {', '.join(columns_of(market))}"


def _near(column: str, market: BoardMarket) -> str:
    near = nearest_columns(column, market)
    return f"; similar: {', '.join(near)}" if near else ""


def _with_interval(column: str, market: BoardMarket) -> str:
    near = [name for name in nearest_columns(column, market) if COLUMNS[name].takes_interval]
    return f"; with an interval: {', '.join(f'{name}@1h' for name in near)}" if near else ""


def nearest_columns(text: str, market: BoardMarket) -> tuple[str, ...]:
    """Suggest up to three columns for a misspelled name, best guess first."""
    # Imported late: only a typo needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    names = [name for name in columns_of(market) if name != text]
    within = [name for name in names if len(text) > 1 and (text in name or name in text)]
    return tuple(dict.fromkeys([*get_close_matches(text, names, _NEAREST, 0.6), *within]))[:_NEAREST]


def _refused(problems: Sequence[tuple[str, str]]) -> InvalidArguments:
    return InvalidArguments(
        summary=f"Invalid screen: {'; '.join(f'{argument}: {problem}' for argument, problem in problems)}",
        errors=tuple({"argument": argument, "problem": problem} for argument, problem in problems),
    )
