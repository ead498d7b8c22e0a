"""What a symbol did, second by second, for as long as a baseline reaches."""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

HOUR_SECONDS = 3_600


class Second(NamedTuple):
    """One second: the book at its end, and what happened in it.

    Depths are base quantities within 10 and 50 bps of the mid; `ofi` is the order flow imbalance of its quote events.
    """

    time_ms: int
    mid: float
    spread_bps: float
    bid_depth: float
    ask_depth: float
    wide_depth: float
    updates: int
    additions_bid: int
    additions_ask: int
    trades: int
    ofi: float
    quotes: int


class Seconds:
    """The newest seconds, oldest first, in columns of eight bytes: an hour of a symbol is a third of a megabyte."""

    __slots__ = ("_columns", "_most")

    def __init__(self, most: int = HOUR_SECONDS) -> None:
        self._most = most
        self._columns = tuple(array("d") for _ in Second._fields)

    def __len__(self) -> int:
        return len(self._columns[0])

    def add(self, second: Second) -> None:
        for column, value in zip(self._columns, second, strict=True):
            column.append(value)
        # Cutting moves the whole array, so it is done now and then.
        if len(self) >= self._most + self._most // 4:
            for column in self._columns:
                del column[: -self._most]

    def clear(self) -> None:
        for column in self._columns:
            del column[:]

    def since(self, from_ms: int) -> list[Second]:
        """Return the seconds that ended after a moment."""
        return [_second(row) for row in zip(*self._newest(), strict=True) if row[0] >= from_ms]

    @property
    def first_ms(self) -> int | None:
        return int(self._newest()[0][0]) if len(self) else None

    def _newest(self) -> tuple["array[float]", ...]:
        return tuple(column[-self._most :] for column in self._columns)


def _second(row: Iterable[float]) -> Second:
    time_ms, mid, spread, bid, ask, wide, updates, add_bid, add_ask, trades, ofi, quotes = row
    return Second(
        int(time_ms),
        mid,
        spread,
        bid,
        ask,
        wide,
        int(updates),
        int(add_bid),
        int(add_ask),
        int(trades),
        ofi,
        int(quotes),
    )
