"""Market health: the present book against its own last minutes."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from mcp_binance_server.analytics.book.metrics import BandImbalance, TopOfBook, imbalance_of_band, top_of_book
from mcp_binance_server.analytics.envelope import Basis, Unknown, Window
from mcp_binance_server.analytics.market.microstructure import (
    DepthSample,
    HealthReport,
    HealthState,
    Recoveries,
    balance_score,
    count_recoveries,
    depth_score,
    freshness_score,
    health,
    resilience_score,
    spread_score,
)
from mcp_binance_server.analytics.thresholds import Component, Thresholds
from mcp_binance_server.feeds.sampling import MOST_LEVELS, NEAR_BPS
from mcp_binance_server.feeds.seconds import Second
from mcp_binance_server.services.anomalies import COLD_LEVELS
from mcp_binance_server.services.live import BookView, LiveService, Watch
from mcp_binance_server.services.taped import collecting

SECOND_MS = 1_000


@dataclass(frozen=True, slots=True)
class MarketHealthService:
    """Scores a symbol's book by what is usual for it."""

    live: LiveService

    async def measure(self, text: str, window_secs: int) -> HealthReport:
        """Score the book against the last seconds; the symbol is streamed from here on."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, COLD_LEVELS if watch.live is None else MOST_LEVELS)
            return self.assess(watch, view, window_secs * SECOND_MS)

    def assess(self, watch: Watch, view: BookView, window_ms: int) -> HealthReport:
        """Score a book that was just read."""
        now_ms, thresholds = self.live.time.now_ms(), self.live.thresholds
        book, feed = view.snapshot, watch.feed
        rows = feed.seconds.since(now_ms - window_ms) if feed is not None else []
        top, band = top_of_book(book.bids, book.asks), imbalance_of_band(book.bids, book.asks, NEAR_BPS)
        recoveries = _recoveries(rows, thresholds)
        least = _least(window_ms, thresholds)
        components = _components(view, top, band, rows if len(rows) >= least else (), recoveries)
        scored = health(components, _state(top, view), thresholds=thresholds)
        waiting = _waiting(watch, len(rows), least, now_ms)
        basis = Basis(
            window=Window(max(now_ms - window_ms, rows[0].time_ms - SECOND_MS) if rows else now_ms, now_ms),
            requested_ms=window_ms,
            n={"snapshots": max(1, len(rows)), "depletions": recoveries.depletions},
            coverage=min(1.0, len(rows) * SECOND_MS / window_ms),
            source=("book",) if view.is_live else ("depth",),
            as_of_ms=view.as_of_ms,
            age_ms=view.age_ms,
            depth_levels=(len(book.bids), len(book.asks)),
            truncated=_is_truncated(band),
            gaps=view.gaps,
        )
        return HealthReport(
            rules=watch.rules,
            basis=basis,
            health=scored,
            unknown={name: _why(name, waiting, top) for name in scored.missing},
            recoveries=recoveries,
            baseline_ms=basis.window.to_ms - basis.window.from_ms,
            thresholds=thresholds,
        )


def _components(
    view: BookView, top: TopOfBook, band: BandImbalance, usual: Sequence[Second], recoveries: Recoveries
) -> dict[Component, float | None]:
    fresh = freshness_score(view.age_ms, thresholds=view.thresholds)
    if top.spread_bps is None or band.bids is None or band.asks is None:
        return {"freshness": fresh}
    usual_spread = median(row.spread_bps for row in usual) if usual else None
    # A book that ends within the band cannot be compared with one that does not.
    comparable = usual and (view.is_live or not _is_truncated(band))
    usual_depth = median(row.bid_depth + row.ask_depth for row in usual) if comparable else None
    return {
        "spread": spread_score(top.spread_bps, usual_spread),
        "depth": depth_score(band.bids.base + band.asks.base, usual_depth),
        "balance": balance_score(band.value),
        "resilience": resilience_score(recoveries, thresholds=view.thresholds),
        "freshness": fresh,
    }


def _least(window_ms: int, thresholds: Thresholds) -> int:
    """Half of a short window is enough to know its median, and as many seconds as events elsewhere in any case."""
    return min(thresholds.min_events, window_ms // SECOND_MS // 2)


def _recoveries(rows: Sequence[Second], thresholds: Thresholds) -> Recoveries:
    bids = count_recoveries([DepthSample(row.time_ms, row.bid_depth) for row in rows], thresholds=thresholds)
    asks = count_recoveries([DepthSample(row.time_ms, row.ask_depth) for row in rows], thresholds=thresholds)
    return Recoveries(bids.recovered + asks.recovered, bids.depletions + asks.depletions)


def _state(top: TopOfBook, view: BookView) -> HealthState:
    return "stale" if view.age_ms > view.thresholds.dead_ms else top.state


def _is_truncated(band: BandImbalance) -> bool:
    return band.bids is None or band.asks is None or band.bids.truncated or band.asks.truncated


def _waiting(watch: Watch, have: int, need: int, now_ms: int) -> Unknown | None:
    """Say how far the seconds have come that a median needs; None when there are enough."""
    if watch.feed is None:
        return watch.unknown
    if have >= need:
        return None
    return collecting(have * SECOND_MS, need * SECOND_MS, now_ms)


def _why(name: Component, waiting: Unknown | None, top: TopOfBook) -> Unknown:
    if top.why_null is not None:
        return Unknown(top.why_null)
    if waiting is not None and name in ("spread", "depth", "resilience"):
        return waiting
    if name == "resilience":
        return Unknown("insufficient_events")
    return Unknown("degenerate")
