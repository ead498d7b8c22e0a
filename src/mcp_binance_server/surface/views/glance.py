"""First lines of every live market page (spread, depth, flow, cost), and the line with the times of their data."""

from collections.abc import Mapping

from mcp_binance_server.analytics.book.grid import BAND_TICKS, PriceGrid
from mcp_binance_server.analytics.book.metrics import Depth
from mcp_binance_server.analytics.market.glance import TakerFlow, TouchReport
from mcp_binance_server.analytics.market.minute import NEAR_BPS
from mcp_binance_server.domain.symbols import SymbolRules
from mcp_binance_server.surface.views.book.cost import cost_words, spread_words
from mcp_binance_server.surface.views.markdown import (
    APART_MS,
    compact_money,
    data_times,
    doubt_lines,
    share,
    span,
    time_of_day,
)
from mcp_binance_server.surface.views.measures import why

EMPTY = "the book is empty"


def glance_lines(rules: SymbolRules, touch: TouchReport | None, flow: TakerFlow | None, no_book: str) -> list[str]:
    """Return one line each on spread, depth, flow and cost.

    An unknown value is replaced by the reason.
    """
    unknown = f"unknown, {no_book if touch is None else no_mid(touch)}"
    spread = depth = cost = unknown
    mid = None if touch is None else touch.top.mid
    if touch is not None and touch.band.bids is not None and touch.band.asks is not None:
        spread = spread_words(float(rules.tick), mid, touch.top.spread)
        depth = f"{_held(rules, touch.band.bids)} bid / {_held(rules, touch.band.asks)} ask"
        cost = unknown if touch.cost is None else cost_words(rules, touch.cost)
    return [
        *silence_lines(touch),
        f"**Spread**: {spread}",
        f"**Depth** {_reach(rules, mid)}: {depth}",
        f"**Flow**: {_flow(flow)}",
        f"**Cost**: {cost}",
    ]


def silence_lines(touch: TouchReport | None) -> list[str]:
    """Return a warning if the book has not changed for unusually long, and for a minute or more."""
    if touch is None or touch.silent_since_ms is None:
        return []
    return doubt_lines([f"Stale: the stream has sent nothing since {time_of_day(touch.silent_since_ms)} UTC"])


def no_mid(touch: TouchReport) -> str:
    """Return the reason why a book has no mid price."""
    return why(touch.top.why_null) if any(touch.levels) else EMPTY


def data_line(
    moments: Mapping[str, int | None], *, closed_ms: int | None = None, closed: str = "closed candles"
) -> str:
    """Return the time of each part of a page. For closed candles, also return their age."""
    known = {name: at_ms for name, at_ms in moments.items() if at_ms is not None}
    parts = [data_times(known)] if known else []
    if closed_ms is not None:
        before_ms = max(known.values()) - closed_ms if known else 0
        earlier = f" ({span(before_ms)} before)" if before_ms > APART_MS else ""
        parts.append(f"{closed} to {time_of_day(closed_ms)}{earlier}")
    return f"**Data**: {', '.join(parts) or 'none'}"


def _flow(flow: TakerFlow | None) -> str:
    if flow is None:
        return "unknown, no trades could be read"
    bought, within = flow.bought_share, f"in the {span(flow.window_ms)} to {time_of_day(flow.to_ms)}"
    if bought is None:
        return f"nothing traded {within}"
    counted = f"{flow.trades:,} trade{'' if flow.trades == 1 else 's'}"
    return f"{share(bought)} of taker volume bought {within} ({counted})"


def _reach(rules: SymbolRules, mid: float | None) -> str:
    """Return the price band of the depth: ten basis points, or three ticks if these are wider."""
    is_coarse = mid is not None and BAND_TICKS * PriceGrid.of(rules).tick_bps(mid) > NEAR_BPS
    return f"(within {BAND_TICKS} ticks)" if is_coarse else f"(within {NEAR_BPS} bps)"


def _held(rules: SymbolRules, depth: Depth) -> str:
    held = compact_money(depth.quote, rules.quote)
    return f">= {held}" if depth.truncated else held
