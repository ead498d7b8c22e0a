"""Counted rates with their intervals, in a table by part and row, and the bounds they are held to."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import NamedTuple

Z = 1.959963984540054
BOUNDS = Path(__file__).with_name("bounds.json")


def wilson(k: int, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share k of n."""
    if not n:
        return 0.0, 1.0
    p, d = k / n, 1 + Z * Z / n
    c, r = (p + Z * Z / (2 * n)) / d, Z / d * sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    # None of any number is consistent with never, whatever the rounding.
    return c - r if k else 0.0, c + r if k < n else 1.0


@dataclass(slots=True)
class Rate:
    """How many were judged, how many fired, and how many were silent for want of data."""

    k: int = 0
    n: int = 0
    silent: int = 0

    def add(self, fired: bool | None) -> None:  # noqa: FBT001 - what happened, not how to add
        """Count one; None could not be judged."""
        if fired is None:
            self.silent += 1
        else:
            self.n += 1
            self.k += fired

    @property
    def share(self) -> float:
        return self.k / self.n if self.n else 0.0

    def __str__(self) -> str:
        if not self.n:
            return "not judged" if self.silent else "-"
        low, high = wilson(self.k, self.n)
        more = f" (+{self.silent} not judged)" if self.silent else ""
        return f"{self.share:6.1%} [{low:5.1%},{high:6.1%}] n={self.n}{more}"


Row = tuple[str, str]


@dataclass(slots=True)
class Table:
    """Rates by (part, row), in order of appearance; figures that are no rates beside them."""

    rates: dict[Row, Rate] = field(default_factory=lambda: defaultdict(Rate))
    notes: list[str] = field(default_factory=list[str])

    def add(self, part: str, row: str, fired: bool | None) -> None:  # noqa: FBT001 - what happened, not how to add
        """Count one more in a row."""
        self.rates[part, row].add(fired)

    def merge(self, other: Mapping[Row, Rate]) -> None:
        """Pool another run's rates with these."""
        for row, rate in other.items():
            mine = self.rates[row]
            mine.k, mine.n, mine.silent = mine.k + rate.k, mine.n + rate.n, mine.silent + rate.silent

    def lines(self) -> Iterable[str]:
        """Yield the table as text, a heading for each part."""
        for part in dict.fromkeys(part for part, _ in self.rates):
            yield f"\n## {part}"
            yield from (f"{row:48}{rate}" for (of, row), rate in self.rates.items() if of == part)
        yield from ("", *self.notes) if self.notes else ()


class Bound(NamedTuple):
    """A ceiling on false alarms or a floor on what is found."""

    part: str
    row: str
    ceiling: float | None = None
    floor: float | None = None

    def missed(self, rate: Rate, *, by_share: bool = False) -> bool:
        """Return whether the whole interval lies beyond the bound, or the share itself."""
        low, high = (rate.share, rate.share) if by_share else wilson(rate.k, rate.n)
        return (self.ceiling is not None and low > self.ceiling) or (self.floor is not None and high < self.floor)

    def __str__(self) -> str:
        return f"at most {self.ceiling:.0%}" if self.ceiling is not None else f"at least {self.floor or 0:.0%}"


def bounds() -> list[Bound]:
    """Return the bounds every release is held to."""
    return [Bound(**each) for each in json.loads(BOUNDS.read_text(encoding="utf-8"))]


def missed(table: Table, *, by_share: bool = False) -> list[str]:
    """Return a line for each bound that the table misses; a row that was never judged misses its bound."""
    out: list[str] = []
    parts = {part for part, _ in table.rates}
    for bound in bounds():
        if bound.part not in parts:
            continue
        rate = table.rates.get((bound.part, bound.row), Rate())
        if not rate.n or bound.missed(rate, by_share=by_share and bound.ceiling is not None):
            out.append(f"{bound.part} | {bound.row}: {rate} against {bound}")
    return out
