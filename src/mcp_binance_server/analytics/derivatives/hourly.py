"""Hourly rows by timestamp. Rows can be late, duplicate, unordered or missing, so their order means nothing."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

HOUR_MS = 3_600_000
# Maximum distance of a timestamp from the full hour, and maximum lead over the local clock.
_OFF_MS = 60_000
# A row is published some minutes after its hour. If two rows are missing, the list is stale.
STALE_MS = 2 * HOUR_MS


class Stamped(Protocol):
    """An object with a timestamp."""

    @property
    def time_ms(self) -> int: ...


PointT = TypeVar("PointT", bound=Stamped)


def by_hour(points: Iterable[PointT], now_ms: int) -> dict[int, PointT]:
    """Return rows by full hour, oldest first.

    Of duplicates the last one is kept. Rows off the hour or in the future are left out.
    """
    found: dict[int, PointT] = {}
    for point in points:
        hour = (point.time_ms + _OFF_MS) // HOUR_MS * HOUR_MS
        if abs(point.time_ms - hour) <= _OFF_MS and point.time_ms <= now_ms + _OFF_MS:
            found[hour] = point
    return dict(sorted(found.items()))


def is_fresh(stamp_ms: int | None, now_ms: int) -> bool:
    """Return True if a list whose newest row has this timestamp is fresh."""
    return stamp_ms is not None and now_ms - stamp_ms <= STALE_MS + _OFF_MS


def hours_before(hours: Mapping[int, PointT], stamp_ms: int, back: int) -> PointT | None:
    """Return the row exactly `back` hours before a timestamp, or None if it is missing."""
    return hours.get(stamp_ms - back * HOUR_MS)
