"""The range of a chart: `7D`, `YTD` and the like become two moments, so that the interval holds too."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from mcp_binance_server.charts.config import Findings, is_object, shown
from mcp_binance_server.charts.dialect.instants import bar_open, months_before, read_instant, write_instant

# With a name the service chooses the interval itself; this one has no other form.
EVERYTHING: Final = "ALL"
TO_DATE: Final = {"DTD": "1D", "WTD": "1W", "MTD": "1M", "YTD": "1Y"}
_SPAN: Final = re.compile(r"(?P<count>[0-9]{1,5})(?P<unit>[DWYdwyM])")
_MONTHS: Final = {"M": 1, "Y": 12}
_DAYS: Final = {"D": 1, "W": 7}


def read_range(
    value: object, interval: str | None, now: datetime, findings: Findings
) -> str | dict[str, object] | None:
    """Read a range in either dialect; `interval` says where bars open, and the end is now unless one is named."""
    if is_object(value):
        return _between(value, now, findings)
    text = value.strip() if isinstance(value, str) else ""
    if text.upper() == EVERYTHING:
        findings.warning("range", "interval_assumed: chart-img.com picks the interval itself for range ALL")
        return EVERYTHING
    start = _start(text, now)
    if start is None:
        advice = f"Write {text[:-1]}M for months" if re.fullmatch(r"[0-9]{1,5}m", text) else None
        findings.error(
            "range", f"{shown(value)} is no range: write 7D, 2W, 3M, 1Y, YTD, ALL or an object with from and to", advice
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
        findings.warning("range", "range_reversed: range.from lay after range.to; the two were swapped")
    if min(start, end) > now:
        findings.warning("range", "future_range: the range begins in the future; there are no bars yet")
    return _object(min(start, end), max(start, end))


def _object(start: datetime, end: datetime) -> dict[str, object]:
    return {"from": write_instant(start), "to": write_instant(end)}
