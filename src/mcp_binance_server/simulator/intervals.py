"""The kline intervals: where each candle opens, in any of the time zones Binance allows."""

import re
from datetime import UTC, datetime

from mcp_binance_server.simulator.hours import DAY_MS, HOUR_MS
from mcp_binance_server.simulator.tape import MINUTE_MS

MONTH = "1M"
WEEK_OFFSET_MS = 4 * DAY_MS  # the epoch was a Thursday, weeks open on Monday

LENGTHS_MS = {
    "1s": 1_000,
    **{f"{count}m": count * MINUTE_MS for count in (1, 3, 5, 15, 30)},
    **{f"{count}h": count * HOUR_MS for count in (1, 2, 4, 6, 8, 12)},
    "1d": DAY_MS,
    "3d": 3 * DAY_MS,
    "1w": 7 * DAY_MS,
}


class Interval:
    """One kline interval in one time zone."""

    def __init__(self, name: str, offset_ms: int = 0) -> None:
        self._name = name
        self._offset_ms = offset_ms

    def opening(self, at_ms: int) -> int:
        """Return when the candle that holds the moment opened."""
        if self._name == MONTH:
            local = datetime.fromtimestamp((at_ms + self._offset_ms) // 1000, UTC)
            return _month_ms(local.year, local.month) - self._offset_ms
        length = LENGTHS_MS[self._name]
        shift = self._offset_ms - (WEEK_OFFSET_MS if self._name == "1w" else 0)
        return (at_ms + shift) // length * length - shift

    def following(self, opening_ms: int) -> int:
        """Return the opening of the next candle."""
        if self._name == MONTH:
            return self.opening(opening_ms + 32 * DAY_MS)
        return opening_ms + LENGTHS_MS[self._name]

    def preceding(self, opening_ms: int) -> int:
        """Return the opening of the candle before."""
        return self.opening(opening_ms - 1)


def known(name: str) -> bool:
    """Tell whether Binance has the interval; names are case-sensitive, 1m is not 1M."""
    return name == MONTH or name in LENGTHS_MS


def zone_offset_ms(text: str) -> int | None:
    """Read a time zone such as 0, 8, -1:00 or 05:45; None when it is not one, or outside -12:00 to +14:00."""
    match = re.fullmatch(r"([+-]?)(\d{1,2})(?::([0-5]\d))?", text)
    if match is None:
        return None
    sign = -1 if match[1] == "-" else 1
    offset_ms = sign * (int(match[2]) * HOUR_MS + int(match[3] or 0) * MINUTE_MS)
    return offset_ms if -12 * HOUR_MS <= offset_ms <= 14 * HOUR_MS else None


def _month_ms(year: int, month: int) -> int:
    return int(datetime(year, month, 1, tzinfo=UTC).timestamp()) * 1000
