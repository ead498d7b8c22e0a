"""The numbers that an answer's rules compared with: the project's own, or which ones were changed."""

from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.analytics.tuning import changes, plain_number

UNCHANGED = "project defaults"


def threshold_words(thresholds: Thresholds) -> str:
    """Name what differs from the defaults: `wall_z 4 (default 3.5)`."""
    return "; ".join(f"{each.name} {each.value} (default {each.default})" for each in changes(thresholds)) or UNCHANGED


def threshold_line(thresholds: Thresholds) -> str:
    """Return the line that a page of the live market ends with."""
    return f"_Thresholds: {threshold_words(thresholds)}_"


def changed_lines(thresholds: Thresholds) -> list[str]:
    """Return the line for an answer that is silent about the defaults."""
    return [f"Thresholds: {threshold_words(thresholds)}"] if changes(thresholds) else []


def in_percent(share: float) -> str:
    """Write a share with the digits it has: `5%`, `2.5%`."""
    return f"{plain_number(round(share * 100, 6))}%"
