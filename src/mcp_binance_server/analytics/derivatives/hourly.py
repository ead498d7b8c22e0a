"""Hourly rows by their stamp: rows may be late, doubled, out of order or missing, so a place in a list says nothing."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

HOUR_MS = 3_600_000
# How far from the full hour a stamp may lie, and how far ahead of our clock.
_OFF_MS = 60_000
# A row is told some minutes after its hour; when two are missing the list is no longer about now.
STALE_MS = 2 * HOUR_MS


class Stamped(Protocol):
    """Whatever has a time."""

    @property
    def time_ms(self) -> int: ...


PointT = TypeVar("PointT", bound=Stamped)


def by_hour(points: Iterable[PointT], now_ms: int) -> dict[int, PointT]:
    """Return rows by the full hour they are of, oldest first; the last of two wins, and what lies ahead is left out."""
    found: dict[int, PointT] = {}
    for point in points:
        hour = (point.time_ms + _OFF_MS) // HOUR_MS * HOUR_MS
        if abs(point.time_ms - hour) <= _OFF_MS and point.time_ms <= now_ms + _OFF_MS:
            found[hour] = point
    return dict(sorted(found.items()))


def is_fresh(stamp_ms: int | None, now_ms: int) -> bool:
    """Tell whether a list that ends at a stamp is still about now."""
    return stamp_ms is not None and now_ms - stamp_ms <= STALE_MS + _OFF_MS


def hours_before(hours: Mapping[int, PointT], stamp_ms: int, back: int) -> PointT | None:
    """Return the row so many hours before a stamp, None when exactly that one is missing."""
    return hours.get(stamp_ms - back * HOUR_MS)
