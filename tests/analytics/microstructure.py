"""How the vectors call the measures of book, flow and health."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from analytics.samples import levels, trade
from mcp_binance_server.analytics.book import impact
from mcp_binance_server.analytics.book.metrics import (
    AmountUnit,
    Taker,
    capacity,
    imbalance_of_band,
    price_adjustment,
    top_of_book,
    walk,
)
from mcp_binance_server.analytics.book.metrics import imbalance_of_levels as of_levels
from mcp_binance_server.analytics.confidence import wilson
from mcp_binance_server.analytics.flow.book_events import QuoteState, multi_level_imbalance, order_flow_imbalance
from mcp_binance_server.analytics.flow.volume import cvd_path, flow_of_trades
from mcp_binance_server.analytics.flow.vpin import SidedVolume, fill_buckets
from mcp_binance_server.domain.market import BookSnapshot

Pairs = list[list[float]]


def top(bids: Pairs, asks: Pairs) -> dict[str, Any]:
    return asdict(top_of_book(levels(bids), levels(asks)))


def weighted_mid(bids: Pairs, asks: Pairs) -> float | None:
    return top_of_book(levels(bids), levels(asks)).weighted_mid


def imbalance(bids: Pairs, asks: Pairs, n: int) -> float | None:
    return of_levels(levels(bids), levels(asks), n).value


def capacity_bps(rows: Pairs, mid: float, side: Taker, bps: float) -> dict[str, Any]:
    return asdict(capacity(levels(rows), mid, side, bps))


def in_band(bids: Pairs, asks: Pairs, bps: float) -> dict[str, Any]:
    got = imbalance_of_band(levels(bids), levels(asks), bps)
    assert got.bids is not None
    assert got.asks is not None
    return {
        "bid_qty": got.bids.base, "bid_notional": got.bids.quote, "bid_truncated": got.bids.truncated,
        "ask_qty": got.asks.base, "ask_notional": got.asks.quote, "ask_truncated": got.asks.truncated,
        "imbalance": got.value,
    }  # fmt: skip


def walked(unit: AmountUnit) -> Callable[[Pairs, float, float, Taker], dict[str, Any]]:
    other = "base" if unit == "quote" else "quote"

    def take(rows: Pairs, amount: float, mid: float, side: Taker) -> dict[str, Any]:
        got = walk(levels(rows), amount, mid, side, unit)
        named = {f"filled_{unit}": got.filled, f"unfilled_{unit}": got.unfilled, other: getattr(got, other)}
        return {**asdict(got), **named, "complete": got.complete}

    return take


def ofi(states: list[list[float]]) -> dict[str, Any]:
    got = order_flow_imbalance([QuoteState(*state) for state in states], minimum=1)
    return {"e": got.events, "ofi": got.value, "n_events": got.n}


def mlofi(before: Mapping[str, Pairs], after: Mapping[str, Pairs], depth: int) -> dict[str, Any]:
    books = [BookSnapshot(0, tuple(levels(each["bids"])), tuple(levels(each["asks"]))) for each in (before, after)]
    got = multi_level_imbalance(books, depth)
    return {**asdict(got), "Q": got.mean_depth}


def flow(rows: list[tuple[float, float, bool]]) -> dict[str, Any]:
    trades = [trade(paid, size, sold=maker) for paid, size, maker in rows]
    return {**asdict(flow_of_trades(trades)), "cvd_path": cvd_path(trades)}


def vpin_true(rows: list[tuple[float, bool]], volume: float, n: int) -> dict[str, Any]:
    bars = [SidedVolume(0, size) if maker else SidedVolume(size, 0) for size, maker in rows]
    full, leftover = fill_buckets(bars, volume)
    enough = len(full) >= n
    value, reason = (sum(full[-n:]) / n, None) if enough else (None, "insufficient_buckets")
    return {"vpin": value, "reason": reason, "buckets": len(full), "leftover": leftover}


def of_share(successes: int, trials: int) -> dict[str, Any]:
    got = wilson(successes, trials)
    assert got is not None
    return {"p": got.value, "lo": got.low, "hi": got.high}


def kyle(volumes: list[float], moves: list[float]) -> dict[str, Any]:
    got = impact.kyle_lambda(volumes, moves, minimum=3)
    return {**asdict(got), "lam": got.value, "se": got.standard_error, "r2": got.r_squared, "reason": got.why_null}


def illiquidity(returns: list[float], volumes: list[float]) -> dict[str, Any]:
    got = impact.amihud(returns, volumes, minimum=1)
    return {"illiq": got.value, "illiq_1e6": got.per_million, "n": got.n}


def spreads(paid: float, side: Taker, mid: float, later: float) -> dict[str, Any]:
    return asdict(impact.spread_parts(paid, side, mid, later))


def microprice(quiet: Pairs, moving: Pairs, steps: list[float], after_move: Pairs) -> dict[str, Any]:
    got = price_adjustment(quiet, moving, steps, after_move)
    return {"G1": got.first, "Gstar": got.total}


MICROSTRUCTURE: dict[str, Callable[..., object]] = {
    "top": top,
    "wmid": weighted_mid,
    "imb_levels": imbalance,
    "imb_bps": in_band,
    "walk_quote": walked("quote"),
    "walk_base": walked("base"),
    "capacity_bps": capacity_bps,
    "micro_gstar": microprice,
    "ofi": ofi,
    "mlofi": mlofi,
    "flow": flow,
    "vpin_true": vpin_true,
    "wilson": of_share,
    "kyle": kyle,
    "amihud": illiquidity,
    "spreads": spreads,
}
