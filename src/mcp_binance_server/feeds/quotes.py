"""The newest best bids and asks, each with the moment it arrived: the stream that tells them has no time of its own."""

from collections import deque
from typing import NamedTuple

from mcp_binance_server.analytics.flow.book_events import QuoteState, change


class SeenQuote(NamedTuple):
    """A state of the touch, and when it arrived by the exchange's time."""

    time_ms: int
    state: QuoteState


class Quotes:
    """States of the touch of at most `span_ms`, and what each change added to the order flow imbalance."""

    __slots__ = ("_last_id", "_quotes", "_span_ms")

    def __init__(self, *, span_ms: int, most: int) -> None:
        self._span_ms = span_ms
        self._quotes: deque[SeenQuote] = deque(maxlen=most)
        self._last_id = -1

    def __len__(self) -> int:
        return len(self._quotes)

    def add(self, update_id: int, state: QuoteState, time_ms: int) -> float | None:
        """Keep a state and return what it changed; None for the first, and for one that was told already."""
        if update_id <= self._last_id:
            return None
        self._last_id = update_id
        before = self._quotes[-1].state if self._quotes else None
        self._quotes.append(SeenQuote(time_ms, state))
        while self._quotes[0].time_ms < time_ms - self._span_ms:
            self._quotes.popleft()
        return None if before is None else change(before, state)

    def clear(self) -> None:
        """Forget everything: a window must not reach across a gap."""
        self._quotes.clear()
        self._last_id = -1

    def since(self, from_ms: int) -> list[SeenQuote]:
        return [each for each in self._quotes if each.time_ms >= from_ms]

    @property
    def first_ms(self) -> int | None:
        return self._quotes[0].time_ms if self._quotes else None

    @property
    def newest(self) -> SeenQuote | None:
        return self._quotes[-1] if self._quotes else None
