"""Health of a market, and the analysis of its microstructure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from mcp_binance_server.analytics.book.metrics import BandImbalance, TopOfBook, capacity, imbalance_of_band, top_of_book
from mcp_binance_server.analytics.envelope import Basis, Unknown, Window
from mcp_binance_server.analytics.market.microstructure import (
    AnalysisDepth,
    DepthSample,
    HealthReport,
    HealthState,
    MarketPart,
    MicrostructureReport,
    Recoveries,
    TouchReport,
    balance_score,
    count_recoveries,
    depth_score,
    freshness_score,
    health,
    resilience_score,
    spread_score,
)
from mcp_binance_server.analytics.market.stress import minute_volatility
from mcp_binance_server.analytics.thresholds import Component, Thresholds
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.sampling import MOST_LEVELS, NEAR_BPS, Second
from mcp_binance_server.services.analysis.anomalies import COLD_LEVELS, AnomalyService
from mcp_binance_server.services.analysis.liquidity import VolumeProfileService
from mcp_binance_server.services.analysis.tape_window import INTERVAL_MS, closed_candles, collecting, settled_ms
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.live.service import BookView, LiveService, Watch

SECOND_MS = 1_000

WAIT_MS = 1_500
BOOK_LEVELS = 1_000
WINDOW_MS = 60_000
# A market order within this distance of the mid is called cheap.
CHEAP_BPS = 2
DAY_MS = 86_400_000
# The feed remembers an hour; a day of bars adds what is usual in volatility.
BASELINE_MS: dict[AnalysisDepth, int] = {"quick": 300_000, "standard": 3_600_000, "deep": 3_600_000}


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


@dataclass(frozen=True, slots=True)
class MicrostructureService:
    """Puts together what is known of how one market trades."""

    live: LiveService
    client: SpotClient
    profiles: VolumeProfileService
    anomalies: AnomalyService
    health: MarketHealthService

    async def analyse(self, text: str, hours: int, depth: AnalysisDepth) -> MicrostructureReport:
        """Gather the page; it waits a little for the first book, and a part that fails is left out.

        Raises:
            RateLimited: half a page would only invite the next question.
            AppError: nothing could be read at all.
        """
        rules = await self.live.market.rules(text)
        profile, market = await gather(lambda: self.profiles.profile(text, hours), lambda: self._market(text, depth))
        if profile.failure is not None and market.failure is not None:
            raise market.failure
        return MicrostructureReport(
            rules=rules,
            hours=hours,
            depth=depth,
            profile=profile.value,
            no_profile=profile.failure.message if profile.failure else "",
            market=market.value,
            no_market=market.failure.message if market.failure else "",
            now_ms=self.live.time.now_ms(),
            thresholds=self.live.thresholds,
        )

    async def _market(self, text: str, depth: AnalysisDepth) -> MarketPart:
        async with self.live.watching(text, wait_ms=WAIT_MS) as watch:
            day = await self._day_volatility(watch.rules.symbol) if depth == "deep" else None
            view = await self.live.book(watch, BOOK_LEVELS)
            baseline_ms = BASELINE_MS[depth]
            anomalies = await self.anomalies.assess(
                watch, view, WINDOW_MS, baseline_ms=baseline_ms, usual_volatility=day
            )
            health = self.health.assess(watch, view, baseline_ms)
            return MarketPart(book=_book(view), anomalies=anomalies, health=health, day_volatility=day)

    async def _day_volatility(self, symbol: Symbol) -> float | None:
        """Return what a minute usually moves, from a day of bars; without them the hour has to do."""
        step_ms = INTERVAL_MS["5m"]
        to_ms = settled_ms(self.live.time.now_ms(), step_ms)
        try:
            bars = await closed_candles(self.client, symbol, "5m", to_ms - DAY_MS, to_ms)
        except RateLimited:
            raise
        except AppError:
            return None
        return minute_volatility([float(each.close) for each in bars], step_ms)


def _book(view: BookView) -> TouchReport:
    bids, asks = view.snapshot.bids, view.snapshot.asks
    top = top_of_book(bids, asks)
    return TouchReport(
        top=top,
        band=imbalance_of_band(bids, asks, NEAR_BPS),
        buy=None if top.mid is None else capacity(asks, top.mid, "buy", CHEAP_BPS),
        sell=None if top.mid is None else capacity(bids, top.mid, "sell", CHEAP_BPS),
        is_live=view.is_live,
        age_ms=view.age_ms,
        levels=(len(bids), len(asks)),
    )
