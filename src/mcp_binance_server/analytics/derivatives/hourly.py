"""Hourly rows by timestamp. Rows can be late, duplicate, unordered or missing, so list positions mean nothing."""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

HOUR_MS = 3_600_000
# Maximum distance of a stamp from the full hour, and maximum lead over our clock.
_OFF_MS = 60_000
# A row is published some minutes after its hour. A list that lacks two rows is not current.
STALE_MS = 2 * HOUR_MS


class Stamped(Protocol):
    """An object with a timestamp."""

    @property
    def time_ms(self) -> int: ...


PointT = TypeVar("PointT", bound=Stamped)


def by_hour(points: Iterable[PointT], now_ms: int) -> dict[int, PointT]:
    """Return rows by their full hour, oldest first. The last duplicate wins; off-hour and future rows are left out."""
    found: dict[int, PointT] = {}
    for point in points:
        hour = (point.time_ms + _OFF_MS) // HOUR_MS * HOUR_MS
        if abs(point.time_ms - hour) <= _OFF_MS and point.time_ms <= now_ms + _OFF_MS:
            found[hour] = point
    return dict(sorted(found.items()))


def is_fresh(stamp_ms: int | None, now_ms: int) -> bool:
    """Return whether a list that ends at a stamp is still current."""
    return stamp_ms is not None and now_ms - stamp_ms <= STALE_MS + _OFF_MS


def hours_before(hours: Mapping[int, PointT], stamp_ms: int, back: int) -> PointT | None:
    """Return the row exactly `back` hours before a stamp; None if it is missing."""
    return hours.get(stamp_ms - back * HOUR_MS)
