"""Trades of a window, from the stream if it reaches back far enough. Also a cache of recent results."""

from collections.abc import Hashable
from functools import partial
from typing import Generic, TypeVar

from mcp_binance_server.analytics.metric import Progress, Unknown, Window
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.live.service import Watch

A_PAGE = 1_000
# Longest delay in ms until a trade, or the end of a candle, is available to a request.
SETTLE_MS = 300
INTERVAL_MS: dict[Interval, int] = {"1s": 1_000, "1m": 60_000, "5m": 300_000, "1h": 3_600_000}

ValueT = TypeVar("ValueT")

SECOND_MS = 1_000


def settled_ms(now_ms: int, step_ms: int = 1_000) -> int:
    """Return the end of the newest time step that is final."""
    return (now_ms - SETTLE_MS) // step_ms * step_ms


async def closed_candles(
    client: SpotClient, symbol: Symbol, interval: Interval, from_ms: int, to_ms: int
) -> tuple[Candle, ...]:
    """Return the candles between two settled moments, oldest first. Long spans take several calls."""
    step_ms = INTERVAL_MS[interval]
    ends = [*range(to_ms, from_ms, -A_PAGE * step_ms)][::-1]
    parts = await gather(
        *(
            partial(client.closed_candles, symbol, interval, min(A_PAGE, (end - from_ms) // step_ms), until_ms=end - 1)
            for end in ends
        )
    )
    found = [each for part in parts for each in part.required().value]
    return tuple(each for each in found if from_ms <= each.open_time_ms < to_ms)


async def trades_between(
    client: SpotClient, symbol: Symbol, from_ms: int, to_ms: int, most_pages: int
) -> tuple[Trade, ...] | None:
    """Return every aggregate trade between two moments, or None if they need more than `most_pages` pages."""
    page = (await client.aggregate_trades_since(symbol, from_ms)).value
    trades = list(page)
    for _ in range(most_pages - 1):
        if len(page) < A_PAGE or page[-1].time_ms >= to_ms:
            break
        page = (await client.aggregate_trades_after(symbol, page[-1].trade_id)).value
        trades += page
    is_whole = len(page) < A_PAGE or page[-1].time_ms >= to_ms
    return tuple(each for each in trades if each.time_ms < to_ms) if is_whole else None


class RecentResults(Generic[ValueT]):
    """FIFO cache of at most `most` results."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: dict[Hashable, ValueT] = {}

    def get(self, key: Hashable) -> ValueT | None:
        return self._values.get(key)

    def keep(self, key: Hashable, value: ValueT) -> ValueT:
        self._values[key] = value
        while len(self._values) > self._most:
            del self._values[next(iter(self._values))]
        return value


def covered_from_ms(watch: Watch) -> int | None:
    """Return the first whole second from which the tape is complete, or None while that is uncertain."""
    feed = watch.live
    newest = feed.tape.newest if feed is not None else None
    if feed is None or newest is None or feed.unbroken_ms is None:
        return None
    from_ms = feed.tape.coverage.from_ms
    # After a break, only the next trade shows whether others were missed.
    if from_ms is None or (from_ms < feed.unbroken_ms and newest.time_ms < feed.unbroken_ms):
        return None
    return -(-from_ms // SECOND_MS) * SECOND_MS


def taped(watch: Watch, window: Window) -> tuple[Trade, ...] | None:
    """Return the trades of a window from the tape, or None if the tape lacks some of them."""
    covered_ms = covered_from_ms(watch)
    if watch.feed is None or covered_ms is None or covered_ms > window.from_ms:
        return None
    found = watch.feed.tape.window(window.from_ms)
    return tuple(each for each in found.trades if each.time_ms < window.to_ms) if found.is_complete else None


def tape_progress(watch: Watch, need_ms: int, now_ms: int) -> Unknown:
    """Return the tape's progress towards covering a window, or the reason why there is no tape."""
    if watch.feed is None:
        return watch.unknown
    covered_ms = covered_from_ms(watch)
    have_ms = 0 if covered_ms is None else min(need_ms, max(0, now_ms - covered_ms))
    return collecting(have_ms, need_ms, now_ms)


def collecting(have_ms: int, need_ms: int, now_ms: int) -> Unknown:
    """Return the progress of a measure that still collects data."""
    progress = Progress(have_ms=have_ms, need_ms=need_ms, ready_ms=now_ms + need_ms - have_ms)
    return Unknown("collecting", progress)
