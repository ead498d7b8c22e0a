"""Instants, intervals and ranges."""

import re
from calendar import monthrange
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import Findings, is_object, shown
from mcp_binance_server.domain.periods import EPOCH, moment_of

# Epochs in seconds are rejected: read as milliseconds they would lie in 1970.
_EARLIEST_EPOCH_MS: Final = 10**11
_LATEST_EPOCH_MS: Final = 4 * 10**12
_MONDAY: Final = datetime(1970, 1, 5, tzinfo=UTC)
_MONTHS: Final = {"M": 1, "Y": 12}
_SPANS: Final = {
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "D": timedelta(days=1),
    "W": timedelta(weeks=1),
}

# Only the local renderer has one-second bars.
LOCAL_ONLY: Final = "1s"
_WRITTEN: Final = re.compile(r"(?P<count>[0-9]{0,4})(?P<unit>[a-zA-Z]?)")
_MINUTES_A_DAY: Final = 1440

# With a named range the service chooses the interval itself. ALL cannot be written as two times.
EVERYTHING: Final = "ALL"
TO_DATE: Final = {"DTD": "1D", "WTD": "1W", "MTD": "1M", "YTD": "1Y"}
_SPAN: Final = re.compile(r"(?P<count>[0-9]{1,5})(?P<unit>[DWYdwyM])")
_DAYS: Final = {"D": 1, "W": 7}


def write_instant(moment: datetime) -> str:
    """Format a time as ISO 8601 in UTC with milliseconds."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


def read_instant(value: object, where: str, findings: Findings) -> datetime | None:
    """Parse ISO 8601 or milliseconds since 1970. ISO 8601 without a time zone is UTC."""
    if isinstance(value, int) and not isinstance(value, bool):
        if _EARLIEST_EPOCH_MS <= value <= _LATEST_EPOCH_MS:
            return moment_of(value)
        findings.error(where, f"{shown(value)} is not a time: a number must be milliseconds since 1970")
        return None
    moment = _iso(value) if isinstance(value, str) else None
    if moment is None:
        findings.error(where, f"{shown(value)} is not a time: write ISO 8601, such as 2026-07-20T15:00:00Z")
    return moment


def _iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def months_before(moment: datetime, months: int) -> datetime | None:
    """Subtract calendar months; return None before 1970.

    The 31st becomes the last day of a shorter month.
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    if year < EPOCH.year:
        return None
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


def bars_before(moment: datetime, interval: str, bars: int) -> datetime:
    """Return the opening time of the bar that lies `bars` bars before the current bar."""
    count, unit = int(interval[:-1]), interval[-1]
    if unit in _MONTHS:
        earlier = months_before(bar_open(moment, interval), bars * count * _MONTHS[unit])
        return earlier or EPOCH
    return bar_open(moment - bars * count * _SPANS[unit], interval)


def bar_open(moment: datetime, interval: str) -> datetime:
    """Return the opening time, in UTC, of the bar that contains a time."""
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
    return moment - (moment - EPOCH) % (count * _SPANS[unit])


def bars_between(start: datetime, end: datetime, interval: str) -> int:
    """Return the number of bars between two times. Partial bars count."""
    count, unit = int(interval[:-1]), interval[-1]
    first = bar_open(start, interval)
    if unit in _MONTHS:
        months = 12 * (end.year - first.year) + end.month - first.month
        return months // (count * _MONTHS[unit]) + 1
    return -((first - end) // span_of(interval))


def bars_opened(start: datetime, end: datetime, interval: str) -> int:
    """Return the number of bars that open between two times, at least one.

    A bar cut by the start does not count: "the last fifty bars" are always fifty.
    """
    is_cut = bar_open(start, interval) < start
    return max(1, bars_between(start, end, interval) - is_cut)


def span_of(interval: str) -> timedelta:
    """Return the duration of a bar. Months count as 30 days and years as 365, which is close enough to count bars."""
    count, unit = int(interval[:-1]), interval[-1]
    return count * (_SPANS.get(unit) or timedelta(days={"M": 30, "Y": 365}[unit]))


def read_interval(value: object, catalogue: ChartCatalogue, findings: Findings) -> str | None:
    """Parse an interval such as `1d`, `D`, `60m` or `240`. Case matters only for m (minutes) and M (months)."""
    offered = catalogue.options("interval")
    if value is None:
        findings.error("interval", f"interval is required, one of {', '.join(offered)}")
        return None
    text = f"{value}" if isinstance(value, int) and 0 < value < 10_000 and value is not True else value
    known = _normal(text) if isinstance(text, str) else None
    if known in offered:
        return known
    if known == LOCAL_ONLY:
        findings.error("interval", "interval 1s is drawn locally only; chart-img.com starts at 1m", remote_only=True)
        return known
    if known is None:
        findings.error("interval", f"{shown(value)} is not an interval; allowed: {', '.join(offered)}")
    else:
        nearest = min(offered, key=lambda each: abs(span_of(each) - span_of(known)))
        findings.error("interval", f"interval {shown(value)} is not offered", f"Use interval {nearest}, the nearest")
    return None


def _normal(text: str) -> str | None:
    found = _WRITTEN.fullmatch(text.strip())
    if found is None or not found[0]:
        return None
    count, unit = int(found["count"] or 1), found["unit"]
    if not unit:
        return _minutes(count)
    unit = unit if unit == "M" else {"m": "m", "s": "s", "h": "h", "d": "D", "w": "W", "y": "Y"}.get(unit.lower(), "")
    if not unit or not count:
        return None
    if unit == "m":
        return _minutes(count)
    if unit == "h":
        return _minutes(60 * count)
    return {"7D": "1W", "12M": "1Y"}.get(f"{count}{unit}", f"{count}{unit}")


def _minutes(count: int) -> str | None:
    if not count:
        return None
    if count % _MINUTES_A_DAY == 0:
        return f"{count // _MINUTES_A_DAY}D"
    return f"{count // 60}h" if count % 60 == 0 else f"{count}m"


def read_range(
    value: object, interval: str | None, now: datetime, findings: Findings
) -> str | dict[str, object] | None:
    """Read a range in either dialect.

    The start is aligned to the bars of `interval`. The default end is now.
    """
    if is_object(value):
        return _between(value, now, findings)
    text = value.strip() if isinstance(value, str) else ""
    if text.upper() == EVERYTHING:
        findings.warning("range", "interval_assumed: for range ALL, chart-img.com picks the interval")
        return EVERYTHING
    start = _start(text, now)
    if start is None:
        advice = f"Write {text[:-1]}M for months" if re.fullmatch(r"[0-9]{1,5}m", text) else None
        findings.error(
            "range",
            f"{shown(value)} is not a range: write 7D, 2W, 3M, 1Y, YTD, ALL or an object with from and to",
            advice,
        )
        return None
    return _object(bar_open(start, interval) if interval else start, now)


def _start(text: str, now: datetime) -> datetime | None:
    if (bar := TO_DATE.get(text.upper())) is not None:
        return bar_open(now, bar)
    found = _SPAN.fullmatch(text)
    count = int(found["count"]) if found else 0
    if found is None or not count:
        return None
    unit = found["unit"].upper()
    if unit in _MONTHS:
        return months_before(now, count * _MONTHS[unit])
    days = timedelta(days=count * _DAYS[unit])
    return now - days if days < timedelta(days=365 * (now.year - 1970)) else None


def _between(given: Mapping[str, object], now: datetime, findings: Findings) -> dict[str, object] | None:
    findings.unknown_keys(given, ("from", "to"), "range.")
    if given.get("from") is None:
        findings.error("range.from", "range.from is required, such as 2026-07-20T00:00:00Z")
        return None
    start = read_instant(given["from"], "range.from", findings)
    end = now if given.get("to") is None else read_instant(given["to"], "range.to", findings)
    if start is None or end is None:
        return None
    if start == end:
        findings.error("range", "range is empty: from and to are the same moment")
        return None
    if start > end:
        findings.warning("range", "range_reversed: range.from was after range.to; they were swapped")
    if min(start, end) > now:
        findings.warning("range", "future_range: the range begins in the future; there are no bars yet")
    return _object(min(start, end), max(start, end))


def _object(start: datetime, end: datetime) -> dict[str, object]:
    return {"from": write_instant(start), "to": write_instant(end)}
