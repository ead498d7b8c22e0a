"""Ranks of a value among other values: mid-rank percentiles and quartiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite

# Minimum rows for a percentile. With fewer rows, one row would change it by more than three points.
LEAST_RANKED = 30


@dataclass(frozen=True, slots=True)
class Percentile:
    """Share of past values below a value, from 0 to 100, with ties counted half. It is None below 30 rows.

    Neighbouring rows of a time series are not independent. So `n` counts rows, not independent observations.
    """

    value: float | None
    n: int
    from_ms: int | None
    to_ms: int | None


@dataclass(frozen=True, slots=True)
class Quartiles:
    """Quartiles of n values."""

    lower: float | None
    median: float | None
    upper: float | None
    n: int


def percentile_of(value: Decimal | None, past: Mapping[int, Decimal]) -> Percentile:
    """Rank a value among past values by time.

    The past values must not contain the value itself. Without a value only `n` and the times are set.
    """
    n = len(past)
    share = None if value is None or n < LEAST_RANKED else mid_rank(value, tuple(past.values()))
    return Percentile(share, n, min(past, default=None), max(past, default=None))


def mid_rank(value: Decimal, others: Sequence[Decimal]) -> float:
    """Return the percentage of the other values below a value. Ties count half."""
    below = sum(other < value for other in others)
    return 100 * (below + others.count(value) / 2) / len(others)


def quartiles(values: Sequence[float | None]) -> Quartiles:
    """Return the quartiles of the known values, with linear interpolation (Hyndman and Fan 1996, type 7)."""
    known = sorted(value for value in values if value is not None and isfinite(value))
    if not known:
        return Quartiles(None, None, None, 0)
    lower, median, upper = (_at(known, quarter / 4) for quarter in (1, 2, 3))
    return Quartiles(lower, median, upper, len(known))


def _at(known: Sequence[float], share: float) -> float:
    place = share * (len(known) - 1)
    below = int(place)
    above, part = min(below + 1, len(known) - 1), place - below
    # A weighted sum avoids the difference of two huge numbers, which could overflow.
    return known[below] if known[below] == known[above] else known[below] * (1 - part) + known[above] * part
