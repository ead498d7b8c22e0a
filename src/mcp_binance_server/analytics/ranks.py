"""Ranks of a value among others: mid-rank percentiles of a timestamped past, and quartiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

# Minimum rows for a percentile. With fewer, one value more or less moves it by more than three points.
LEAST_RANKED = 30


@dataclass(frozen=True, slots=True)
class Percentile:
    """The share of the past below a value, from 0 to 100, with ties counted half; None below 30 rows.

    Neighbours in a series depend on each other: n counts rows, not independent observations.
    """

    value: float | None
    n: int
    from_ms: int | None
    to_ms: int | None


@dataclass(frozen=True, slots=True)
class Quartiles:
    """The values below which a quarter, half and three quarters of n values lie."""

    lower: float | None
    median: float | None
    upper: float | None
    n: int


def percentile_of(value: Decimal | None, past: Mapping[int, Decimal]) -> Percentile:
    """Rank a value among a past by time that must not contain it. Without a value only the past is described."""
    n = len(past)
    share = None if value is None or n < LEAST_RANKED else mid_rank(value, tuple(past.values()))
    return Percentile(share, n, min(past, default=None), max(past, default=None))


def mid_rank(value: Decimal, others: Sequence[Decimal]) -> float:
    """Return the percentage of others below a value; ties count half."""
    below = sum(other < value for other in others)
    return 100 * (below + others.count(value) / 2) / len(others)


def quartiles(values: Sequence[float | None]) -> Quartiles:
    """Return the quartiles of the known values, interpolated in proportion (Hyndman and Fan 1996, type 7)."""
    known = sorted(value for value in values if value is not None and isfinite(value))
    if not known:
        return Quartiles(None, None, None, 0)
    lower, median, upper = (_at(known, quarter / 4) for quarter in (1, 2, 3))
    return Quartiles(lower, median, upper, len(known))


def _at(known: Sequence[float], share: float) -> float:
    place = share * (len(known) - 1)
    below = int(place)
    above, part = min(below + 1, len(known) - 1), place - below
    # A weighted sum, not the lower value plus a step: the difference of two huge numbers can overflow.
    return known[below] if known[below] == known[above] else known[below] * (1 - part) + known[above] * part
