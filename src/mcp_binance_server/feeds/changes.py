"""The newest changes of a book's levels, kept as they came: what happened at one price can be told from them."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from mcp_binance_server.domain.book import BookDelta


class TimedDelta(NamedTuple):
    """A delta and when it arrived, by the exchange's time."""

    time_ms: int
    delta: BookDelta


class Changes:
    """Deltas of at most `span_ms`, and of at most `most` levels in all."""

    __slots__ = ("_changes", "_levels", "_most", "_since_ms", "_span_ms")

    def __init__(self, *, span_ms: int, most: int) -> None:
        self._span_ms = span_ms
        self._most = most
        self._changes: deque[TimedDelta] = deque()
        self._levels = 0
        self._since_ms: int | None = None

    def __iter__(self) -> Iterator[TimedDelta]:
        return iter(self._changes)

    def __len__(self) -> int:
        return len(self._changes)

    @property
    def since_ms(self) -> int | None:
        """From when on every change is here; None before the first."""
        return self._since_ms

    def add(self, time_ms: int, delta: BookDelta) -> None:
        if self._since_ms is None:
            self._since_ms = time_ms
        self._changes.append(TimedDelta(time_ms, delta))
        self._levels += len(delta.bids) + len(delta.asks)
        while self._changes and (self._levels > self._most or self._changes[0].time_ms < time_ms - self._span_ms):
            gone = self._changes.popleft()
            self._levels -= len(gone.delta.bids) + len(gone.delta.asks)
            self._since_ms = gone.time_ms + 1

    def clear(self) -> None:
        self._changes.clear()
        self._levels = 0
        self._since_ms = None
