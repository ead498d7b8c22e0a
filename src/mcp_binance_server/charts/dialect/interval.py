"""The interval of a chart: how long one bar lasts."""

import re
from typing import Final

from mcp_binance_server.charts.catalogue import ChartCatalogue
from mcp_binance_server.charts.config import Findings, shown
from mcp_binance_server.charts.dialect.instants import span_of

# Only our own renderer has bars of a second.
LOCAL_ONLY: Final = "1s"
_WRITTEN: Final = re.compile(r"(?P<count>[0-9]{0,4})(?P<unit>[a-zA-Z]?)")
_MINUTES_A_DAY: Final = 1440


def read_interval(value: object, catalogue: ChartCatalogue, findings: Findings) -> str | None:
    """Read an interval: `1d`, `D`, `60m` and `240` are understood; only m (minutes) and M (months) differ by case."""
    offered = catalogue.options("interval")
    if value is None:
        findings.error("interval", f"interval is required, one of {', '.join(offered)}")
        return None
    text = f"{value}" if isinstance(value, int) and 0 < value < 10_000 and value is not True else value
    known = _normal(text) if isinstance(text, str) else None
    if known in offered:
        return known
    if known == LOCAL_ONLY:
        findings.error("interval", "interval 1s is drawn locally only; chart-img.com begins at 1m", remote_only=True)
        return known
    if known is None:
        findings.error("interval", f"{shown(value)} is no interval; allowed are {', '.join(offered)}")
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
