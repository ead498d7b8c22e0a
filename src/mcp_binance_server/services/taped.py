"""The live tape as far as it can be relied on: whole seconds without a missing trade."""

from mcp_binance_server.analytics.envelope import Progress, Unknown, Window
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.services.live import Watch

SECOND_MS = 1_000


def covered_from_ms(watch: Watch) -> int | None:
    """Return the first whole second from which on every trade is on the tape; None while that is not certain."""
    feed = watch.live
    newest = feed.tape.newest if feed is not None else None
    if feed is None or newest is None or feed.unbroken_ms is None:
        return None
    from_ms = feed.tape.coverage.from_ms
    # After a break only the next trade tells whether others were missed.
    if from_ms is None or (from_ms < feed.unbroken_ms and newest.time_ms < feed.unbroken_ms):
        return None
    return -(-from_ms // SECOND_MS) * SECOND_MS


def taped(watch: Watch, window: Window) -> tuple[Trade, ...] | None:
    """Return the trades of a window from the tape; None when it does not hold all of them."""
    covered_ms = covered_from_ms(watch)
    if watch.feed is None or covered_ms is None or covered_ms > window.from_ms:
        return None
    found = watch.feed.tape.window(window.from_ms)
    return tuple(each for each in found.trades if each.time_ms < window.to_ms) if found.is_complete else None


def tape_progress(watch: Watch, need_ms: int, now_ms: int) -> Unknown:
    """Say how far the tape is from covering so long a window, or that there is none."""
    if watch.feed is None:
        return watch.unknown
    covered_ms = covered_from_ms(watch)
    have_ms = 0 if covered_ms is None else min(need_ms, max(0, now_ms - covered_ms))
    return collecting(have_ms, need_ms, now_ms)


def collecting(have_ms: int, need_ms: int, now_ms: int) -> Unknown:
    """Say that a measure is still collecting."""
    progress = Progress(have_ms=have_ms, need_ms=need_ms, ready_ms=now_ms + need_ms - have_ms)
    return Unknown("collecting", progress)
