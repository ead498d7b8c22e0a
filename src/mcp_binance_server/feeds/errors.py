"""Errors of the live market. The tree of all errors is in `mcp_binance_server.errors`."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_binance_server.errors import AppError

GUIDE = "guide://document/data/freshness.md"


@dataclass(kw_only=True, eq=False)
class NotStreamed(AppError):
    error_type: ClassVar[str] = "not_streamed"
    guide: ClassVar[str] = GUIDE
    recovery_suggestion: ClassVar[str] = "Request the data instead: get_ticker, get_order_book, get_recent_trades"

    symbol: str
    reason: str

    @property
    def message(self) -> str:
        return f"{self.symbol} cannot be followed: {self.reason}."


@dataclass(kw_only=True, eq=False)
class StreamsFull(AppError):
    error_type: ClassVar[str] = "streams_full"
    guide: ClassVar[str] = GUIDE
    retryable: ClassVar[bool] = True
    recovery_suggestion: ClassVar[str] = "Follow fewer symbols, or try again later"

    what: str
    most: int

    @property
    def message(self) -> str:
        return f"{self.what}: {self.most} at most."


def stream_evicted(most: int) -> StreamsFull:
    """Return the error for a stream that was closed to make room for another party."""
    return StreamsFull(what="Too many streams are open and you had the most, so this one was closed", most=most)


def symbol_evicted(symbol: str, most: int) -> StreamsFull:
    """Return the error for a symbol that was evicted to make room for another party."""
    what = f"Too many symbols are streamed and you follow the most, so {symbol} was dropped"
    return StreamsFull(what=what, most=most)


def page_evicted(most: int) -> StreamsFull:
    """Return the error for a watched page that was closed to make room for another party."""
    return StreamsFull(what="Too many pages are watched and you watch the most, so one was dropped", most=most)
