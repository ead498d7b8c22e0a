"""When something arrived: for what another process heard, that is when it arrived there."""

from collections.abc import Generator
from contextlib import contextmanager

from mcp_binance_server.feeds.routes import Now


class ReceiptTime:
    """The exchange's time now, or so many milliseconds ago while something older is handed over."""

    __slots__ = ("_ago_ms", "_time")

    def __init__(self, time: Now) -> None:
        self._time = time
        self._ago_ms = 0

    def now_ms(self) -> int:
        return self._time.now_ms() - self._ago_ms

    def witness(self, event_ms: int) -> None:
        self._time.witness(event_ms + self._ago_ms)

    @contextmanager
    def ago(self, ms: int) -> Generator[None]:
        """Date back everything handed over within the block, which must not wait."""
        self._ago_ms = max(0, ms)
        try:
            yield
        finally:
            self._ago_ms = 0
