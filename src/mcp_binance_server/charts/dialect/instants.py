"""Moments as chart-img.com writes them, and when a bar opens."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta
from typing import Final

from mcp_binance_server.charts.config import Findings, shown

# An epoch in seconds, read as milliseconds, would lie in 1970.
_EARLIEST_EPOCH_MS: Final = 10**11
_LATEST_EPOCH_MS: Final = 4 * 10**12
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MONDAY: Final = datetime(1970, 1, 5, tzinfo=UTC)
_MONTHS: Final = {"M": 1, "Y": 12}
_SPANS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "D": timedelta(days=1),
    "W": timedelta(weeks=1),
}


def write_instant(moment: datetime) -> str:
    """Write a moment in UTC with milliseconds."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def read_instant(value: object, where: str, findings: Findings) -> datetime | None:
    """Read an ISO 8601 text (UTC unless it names a zone) or milliseconds since 1970."""
    if isinstance(value, int) and not isinstance(value, bool):
        if _EARLIEST_EPOCH_MS <= value <= _LATEST_EPOCH_MS:
            return _EPOCH + timedelta(milliseconds=value)
        findings.error(where, f"{shown(value)} is no time: a number must be milliseconds since 1970")
        return None
    moment = _iso(value) if isinstance(value, str) else None
    if moment is None:
        findings.error(where, f"{shown(value)} is no time: write ISO 8601, such as 2026-07-20T15:00:00Z")
    return moment


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def months_before(moment: datetime, months: int) -> datetime | None:
    """Step back by calendar months; the 31st becomes the last day of a shorter month."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    if year < _EPOCH.year:
        return None
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


def bars_before(moment: datetime, interval: str, bars: int) -> datetime:
    """Return when the bar opened that lies so many bars before the one of this moment."""
    count, unit = int(interval[:-1]), interval[-1]
    if unit in _MONTHS:
        earlier = months_before(bar_open(moment, interval), bars * count * _MONTHS[unit])
        return earlier or _EPOCH
    return bar_open(moment - bars * count * _SPANS[unit], interval)


def bar_open(moment: datetime, interval: str) -> datetime:
    """Return when the bar of this moment opened, in UTC."""
    count, unit = int(interval[:-1]), interval[-1]
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit in _MONTHS:
        months = midnight.year * 12 + midnight.month - 1
        year, month = divmod(months - months % (count * _MONTHS[unit]), 12)
        return midnight.replace(year=year, month=month + 1, day=1)
    if unit == "W":
        return midnight - (midnight - _MONDAY) % timedelta(weeks=1)
    if unit == "D":
        return midnight
    return moment - (moment - _EPOCH) % (count * _SPANS[unit])


def bars_between(start: datetime, end: datetime, interval: str) -> int:
    """Return how many bars lie between two moments, those they cut included."""
    count, unit = int(interval[:-1]), interval[-1]
    first = bar_open(start, interval)
    if unit in _MONTHS:
        months = 12 * (end.year - first.year) + end.month - first.month
        return months // (count * _MONTHS[unit]) + 1
    return -((first - end) // span_of(interval))


def bars_opened(start: datetime, end: datetime, interval: str) -> int:
    """Return how many bars open between two moments, at least one: the last fifty are fifty, whatever the minute."""
    is_cut = bar_open(start, interval) < start
    return max(1, bars_between(start, end, interval) - is_cut)


def epoch_ms(moment: datetime) -> int:
    """Return a moment as milliseconds since 1970."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def span_of(interval: str) -> timedelta:
    """Return how long a bar lasts; months have 30 days and years 365, close enough to count bars."""
    count, unit = int(interval[:-1]), interval[-1]
    return count * (_SPANS.get(unit) or timedelta(days={"M": 30, "Y": 365}[unit]))
