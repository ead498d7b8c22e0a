"""Anomalies of the live market: gather what its feed remembers of a window, and let pure functions judge."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from mcp_binance_server.analytics.book.level_history import level_window
from mcp_binance_server.analytics.envelope import Basis, Unknown, Window
from mcp_binance_server.analytics.market.anomalies import (
    AnomalyType,
    AnomalyVerdict,
    Ladder,
    Ladders,
    crash_verdict,
    pattern_verdicts,
    stuffing_verdict,
)
from mcp_binance_server.analytics.market.microstructure import AnomalyReport
from mcp_binance_server.analytics.market.stress import MarketHour
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.feeds.feed import SymbolFeed
from mcp_binance_server.feeds.sampling import TimedDelta
from mcp_binance_server.services.analysis.tape_window import collecting
from mcp_binance_server.services.live.service import BookView, LiveService, Watch

SECOND_MS = 1_000
# Below this much history no flag says anything.
LEAST_BASELINE_MS = 300_000
# How many levels a size is compared with its neighbours among.
LADDER_LEVELS = 1_000
# Without a stream the book only says when the answer was given, and the small one costs a tenth.
COLD_LEVELS = 100
TYPES: tuple[AnomalyType, ...] = ("quote_stuffing", "iceberg", "absorption", "spoof_like", "flash_crash_flags")


@dataclass(frozen=True, slots=True)
class AnomalyService:
    """Looks for what is unusual in the last seconds of a symbol."""

    live: LiveService

    async def detect(self, text: str, window_secs: int) -> AnomalyReport:
        """Judge the last seconds with what is known now; the symbol is streamed from here on."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, COLD_LEVELS)
            return await self.assess(watch, view, window_secs * SECOND_MS)

    async def assess(
        self,
        watch: Watch,
        view: BookView,
        window_ms: int,
        *,
        baseline_ms: int | None = None,
        usual_volatility: float | None = None,
    ) -> AnomalyReport:
        """Judge a window of a symbol that is being watched; the flags compare with `baseline_ms` before."""
        now_ms, thresholds = self.live.time.now_ms(), self.live.thresholds
        feed = watch.feed
        if feed is None:
            verdicts = tuple(AnomalyVerdict(type=each, unknown=watch.unknown) for each in TYPES)
            basis = _cold_basis(view, window_ms)
            return AnomalyReport(rules=watch.rules, basis=basis, verdicts=verdicts, thresholds=thresholds)
        window = _EventWindow.of(feed, now_ms, window_ms)
        # The book must not change under the eyes of another thread: copies go there.
        patterns, changed = await anyio.to_thread.run_sync(partial(_patterns, window, _ladders_of(feed), thresholds))
        whole_ms = thresholds.baseline_ms
        hour = _hour(feed, now_ms, whole_ms)
        waiting = _baseline(hour.span_ms, whole_ms, now_ms)
        stuffing = stuffing_verdict(hour, window_ms, waiting, thresholds=thresholds)
        recent = hour.newest(baseline_ms or whole_ms)
        short = recent.span_ms < LEAST_BASELINE_MS
        crash = crash_verdict(
            recent,
            _baseline(recent.span_ms, LEAST_BASELINE_MS, now_ms) if short else None,
            usual_volatility=usual_volatility,
            thresholds=thresholds,
        )
        basis = Basis(
            window=Window(max(window.from_ms, window.known_from_ms), now_ms),
            requested_ms=window_ms,
            n={"level_changes": changed, "trades": len(window.trades), "seconds": len(hour.times)},
            coverage=window.coverage,
            source=("book", "aggTrade", "bookTicker"),
            as_of_ms=feed.book_ms or view.as_of_ms,
            age_ms=feed.age_ms(now_ms) if feed.book_ms else view.age_ms,
            depth_levels=(len(view.snapshot.bids), len(view.snapshot.asks)),
            gaps=feed.counts.gaps + feed.counts.lost,
        )
        verdicts = (stuffing, *patterns, crash)
        return AnomalyReport(rules=watch.rules, basis=basis, verdicts=verdicts, thresholds=thresholds)


@dataclass(frozen=True, slots=True)
class _EventWindow:
    """The changes and trades of a window, and from when on none of them is missing."""

    from_ms: int
    now_ms: int
    unbroken_ms: int | None
    known_from_ms: int
    changes: Sequence[TimedDelta]
    trades: tuple[Trade, ...]
    has_all_trades: bool

    @classmethod
    def of(cls, feed: SymbolFeed, now_ms: int, window_ms: int) -> "_EventWindow":
        from_ms = now_ms - window_ms
        changes = tuple(feed.changes)
        taped = feed.tape.window(from_ms)
        unbroken_ms = feed.unbroken_ms
        known_ms = now_ms if unbroken_ms is None else unbroken_ms
        if changes and feed.changes.since_ms != changes[0].time_ms:  # older ones have made room
            known_ms = max(known_ms, feed.changes.since_ms or now_ms)
        return cls(from_ms, now_ms, unbroken_ms, known_ms, changes, taped.trades, taped.is_complete)

    @property
    def coverage(self) -> float:
        return max(0.0, min(1.0, (self.now_ms - self.known_from_ms) / (self.now_ms - self.from_ms)))

    @property
    def waiting(self) -> Unknown | None:
        """How far the window has come since the book was last put in step; None when it is over."""
        need_ms = self.now_ms - self.from_ms
        have_ms = 0 if self.unbroken_ms is None else self.now_ms - self.unbroken_ms
        return collecting(have_ms, need_ms, self.now_ms) if have_ms < need_ms else None


def _patterns(window: _EventWindow, ladders: Ladders, thresholds: Thresholds) -> tuple[tuple[AnomalyVerdict, ...], int]:
    from_ms = max(window.from_ms, window.known_from_ms)
    large = ladders.large(thresholds=thresholds)
    levels = level_window(window.changes, window.trades, from_ms, large, thresholds=thresholds)
    is_whole = window.coverage >= 1 and window.has_all_trades
    verdicts = pattern_verdicts(levels, ladders, window.waiting, is_whole=is_whole, thresholds=thresholds)
    return verdicts, levels.updates


def _ladders_of(feed: SymbolFeed) -> Ladders:
    bids, asks = feed.book.written_top(LADDER_LEVELS)
    return Ladders(Ladder.of(bids), Ladder.of(asks))


def _hour(feed: SymbolFeed, now_ms: int, span_ms: int) -> MarketHour:
    rows = feed.seconds.since(now_ms - span_ms)
    to_ms = rows[-1].time_ms if rows else now_ms
    first_ms = feed.seconds.first_ms
    from_ms = to_ms if first_ms is None else max(to_ms - span_ms, first_ms - SECOND_MS)
    return MarketHour(
        from_ms=min(from_ms, to_ms),
        to_ms=to_ms,
        times=[row.time_ms for row in rows],
        mids=[row.mid for row in rows],
        spreads_bps=[row.spread_bps for row in rows],
        depths=[row.wide_depth for row in rows],
        updates=[row.updates for row in rows],
        trades=[row.trades for row in rows],
        ofis=[row.ofi for row in rows],
        quotes=[row.quotes for row in rows],
    )


def _baseline(have_ms: int, need_ms: int, now_ms: int) -> Unknown:
    have_ms = min(have_ms, need_ms)
    return Unknown("insufficient_baseline", collecting(have_ms, need_ms, now_ms).progress)


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
    )
