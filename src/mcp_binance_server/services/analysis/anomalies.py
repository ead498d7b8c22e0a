"""Anomalies in the last whole minutes of a live market. The feed detects them, and this module collects them."""

from dataclasses import dataclass

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.metrics import top_of_book
from mcp_binance_server.analytics.market.microstructure import AnomalyReport
from mcp_binance_server.analytics.market.reference_class import ReferenceClass
from mcp_binance_server.analytics.market.symbol_scores import CRITERIA, JudgementName
from mcp_binance_server.analytics.metric import BaseRate, Basis, Unknown, Window
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.services.live.service import BookView, LiveService, Watch

SECOND_MS = 1_000
MINUTE_MS = 60_000
# Without a stream, the book only provides a timestamp. A small book costs a tenth of the weight.
COLD_LEVELS = 100


@dataclass(frozen=True, slots=True)
class AnomalyService:
    """Anomalies of a symbol, compared with its own past."""

    live: LiveService

    async def detect(self, text: str, window_secs: int) -> AnomalyReport:
        """Return the judgements of the last whole minutes. The symbol is streamed from now on."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, COLD_LEVELS)
            return self.assess(watch, view, window_secs * SECOND_MS)

    def assess(self, watch: Watch, view: BookView, window_ms: int) -> AnomalyReport:
        """Collect the last whole minutes of a watched symbol. The window is rounded up to whole minutes."""
        now_ms, thresholds = self.live.time.now_ms(), self.live.thresholds
        feed = watch.feed
        if feed is None or view.is_frozen:
            unknown = watch.unknown if feed is None else Unknown("stale_book")
            basis = _cold_basis(view, window_ms)
            return AnomalyReport(rules=watch.rules, basis=basis, unknown=unknown, thresholds=thresholds)
        asked = -(-window_ms // MINUTE_MS)
        # The newest minute ended at most one minute ago.
        oldest_ms = now_ms - (asked + 1) * MINUTE_MS
        minutes = tuple(each for each in feed.minutes.ended if each.end_ms > oldest_ms)[-asked:]
        changed: dict[JudgementName, BaseRate] = {
            name: seen for name in CRITERIA if (seen := feed.pasts.scores[name].has_changed()) is not None
        }
        return AnomalyReport(
            rules=watch.rules,
            basis=_basis(feed, view, [each.end_ms for each in minutes], now_ms, window_ms),
            minutes=minutes,
            stress=feed.minutes.stress,
            changed=changed,
            reference=_reference(feed, view),
            past_minutes=len(feed.pasts.scores["hidden_size"]),
            thresholds=thresholds,
        )


def _reference(feed: SymbolFeed, view: BookView) -> ReferenceClass | None:
    """Return the class of a market by its tick size and trades per minute, or None before its first minute."""
    mid, trades = top_of_book(view.snapshot.bids, view.snapshot.asks).mid, feed.pasts.rates.trades_per_minute()
    if mid is None or trades is None:
        return None
    return ReferenceClass.of(PriceGrid.of(view.rules).tick_bps(mid), trades)


def _basis(feed: SymbolFeed, view: BookView, ends: list[int], now_ms: int, window_ms: int) -> Basis:
    window = Window(ends[0] - MINUTE_MS, ends[-1]) if ends else Window(now_ms, now_ms)
    asked = -(-window_ms // MINUTE_MS)
    return Basis(
        window=window,
        requested_ms=window_ms,
        n={"minutes": len(ends), "past_minutes": len(feed.pasts.scores["hidden_size"])},
        coverage=len(ends) / asked,
        source=("book", "aggTrade"),
        as_of_ms=feed.book_ms or view.as_of_ms,
        age_ms=feed.age_ms(now_ms) if feed.book_ms else view.age_ms,
        depth_levels=(len(view.snapshot.bids), len(view.snapshot.asks)),
        gaps=feed.counts.gaps + feed.counts.lost,
        stale=view.is_stale,
    )


def _cold_basis(view: BookView, window_ms: int) -> Basis:
    return Basis(
        window=Window(view.as_of_ms, view.as_of_ms),
        requested_ms=window_ms,
        n={"snapshots": 1},
        coverage=0.0,
        source=("depth",),
        as_of_ms=view.as_of_ms,
        age_ms=view.age_ms,
        depth_levels=(len(view.snapshot.bids), len(view.snapshot.asks)),
        stale=view.is_stale,
    )
