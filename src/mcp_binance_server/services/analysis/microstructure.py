"""Health of a market, and the analysis of its microstructure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.metrics import BandImbalance, TopOfBook, top_of_book
from mcp_binance_server.analytics.market.glance import FLOW_MS, TakerFlow, flow_of_tape, near_band, touch_of
from mcp_binance_server.analytics.market.health import LEAST_MINUTES
from mcp_binance_server.analytics.market.microstructure import (
    NO_SCORE,
    AnalysisDepth,
    DepthSample,
    HealthReport,
    MarketPart,
    MicrostructureReport,
    Recoveries,
    count_recoveries,
    minute_volatility,
)
from mcp_binance_server.analytics.metric import Basis, NotJudged, Unknown, Window
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.feeds.sampling import HOUR_SECONDS, MOST_LEVELS, Second
from mcp_binance_server.services.analysis.anomalies import COLD_LEVELS, AnomalyService
from mcp_binance_server.services.analysis.cost import order_cost
from mcp_binance_server.services.analysis.flow_live import takers_paid
from mcp_binance_server.services.analysis.liquidity import VolumeProfileService
from mcp_binance_server.services.analysis.tape_window import INTERVAL_MS, closed_candles, settled_ms, taped
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.live.service import BookView, LiveService, Quoted, Watch

SECOND_MS = 1_000

WAIT_MS = 1_500
BOOK_LEVELS = 1_000
PAID_MS = 300_000
DAY_MS = 86_400_000
# Window in ms for each analysis depth, in whole minutes. The deepest analysis also reads a day of bars.
WINDOW_MS: dict[AnalysisDepth, int] = {"quick": 60_000, "standard": 180_000, "deep": 300_000}
RESILIENCE_MS = 300_000


@dataclass(frozen=True, slots=True)
class MarketHealthService:
    """Health scores of a symbol's book, relative to its own last hour."""

    live: LiveService

    async def measure(self, text: str, window_secs: int) -> HealthReport:
        """Return the current health, and the book's recoveries in the last seconds. The symbol stays streamed."""
        async with self.live.watching(text) as watch:
            view = await self.live.book(watch, COLD_LEVELS if watch.live is None else MOST_LEVELS)
            return self.assess(watch, view, window_secs * SECOND_MS)

    def assess(self, watch: Watch, view: BookView, window_ms: int) -> HealthReport:
        """Return the health of a book that was just read."""
        now_ms, thresholds = self.live.time.now_ms(), self.live.thresholds
        book, feed = view.snapshot, watch.feed
        hour = feed.seconds.since(now_ms - HOUR_SECONDS * SECOND_MS) if feed is not None else []
        rows = [row for row in hour if row.time_ms >= now_ms - window_ms]
        grid = PriceGrid.of(watch.rules)
        top = top_of_book(book.bids, book.asks)
        band = near_band(view, top, grid)
        recoveries = _recoveries(rows, thresholds)
        past_minutes = feed.pasts.hour.health_minutes if feed is not None else 0
        now = feed.minutes.health if feed is not None else None
        unknown = _unknown(watch, view, top)
        basis = Basis(
            window=Window(max(now_ms - window_ms, rows[0].time_ms - SECOND_MS) if rows else now_ms, now_ms),
            requested_ms=window_ms,
            n={"snapshots": max(1, len(rows)), "depletions": recoveries.depletions, "past_minutes": past_minutes},
            coverage=min(1.0, len(rows) * SECOND_MS / window_ms),
            source=("book",) if view.is_live else ("depth",),
            as_of_ms=view.as_of_ms,
            age_ms=view.age_ms,
            depth_levels=(len(book.bids), len(book.asks)),
            truncated=_is_truncated(band),
            gaps=view.gaps,
            stale=view.is_stale,
        )
        return HealthReport(
            rules=watch.rules,
            basis=basis,
            grid=grid,
            now=now if unknown is None else None,
            unknown=unknown,
            not_judged=NotJudged(past_minutes, LEAST_MINUTES) if unknown is None and now is None else None,
            top=top,
            imbalance=band.value,
            recoveries=recoveries,
            hour_recoveries=_recoveries(hour, thresholds),
            past_minutes=past_minutes,
            thresholds=thresholds,
        )


def _recoveries(rows: Sequence[Second], thresholds: Thresholds) -> Recoveries:
    bids = count_recoveries([DepthSample(row.time_ms, row.bid_depth) for row in rows], thresholds=thresholds)
    asks = count_recoveries([DepthSample(row.time_ms, row.ask_depth) for row in rows], thresholds=thresholds)
    return Recoveries(bids.recovered + asks.recovered, bids.depletions + asks.depletions)


def _unknown(watch: Watch, view: BookView, top: TopOfBook) -> Unknown | None:
    """Return why a book has no health score: it is broken, has no stream, or is silent for too long.

    Otherwise return None.
    """
    if (why := NO_SCORE.get(top.state)) is not None:
        return Unknown(why)
    if watch.feed is None:
        return watch.unknown
    is_silent = view.is_frozen or (not view.is_live and watch.feed.minutes.health is not None)
    return Unknown("stale_book") if is_silent else None


def _is_truncated(band: BandImbalance) -> bool:
    return band.bids is None or band.asks is None or band.bids.truncated or band.asks.truncated


@dataclass(frozen=True, slots=True)
class MicrostructureService:
    """Microstructure page of one market, combined from several services."""

    live: LiveService
    client: SpotClient
    profiles: VolumeProfileService
    anomalies: AnomalyService
    health: MarketHealthService

    async def analyse(self, text: str, hours: int, depth: AnalysisDepth) -> MicrostructureReport:
        """Collect the page. Wait briefly for the first book, and leave out parts that fail.

        Raises:
            RateLimited: a partial page would only cause more requests.
            AppError: nothing could be read.
        """
        rules = await self.live.market.rules(text)
        profile, market, quoted = await gather(
            lambda: self.profiles.profile(text, hours, with_price=False),
            lambda: self._market(text, depth),
            lambda: self._quoted(text),
        )
        reading = quoted.value.reading if quoted.value else None
        if profile.failure is not None and market.failure is not None:
            raise market.failure
        return MicrostructureReport(
            rules=rules,
            hours=hours,
            depth=depth,
            profile=replace(profile.value, reading=reading) if profile.value else None,
            no_profile=profile.failure.message if profile.failure else "",
            market=market.value,
            no_market=market.failure.message if market.failure else "",
            now_ms=self.live.time.now_ms(),
            thresholds=self.live.thresholds,
        )

    async def _quoted(self, text: str) -> Quoted:
        async with self.live.watching(text, wait_ms=WAIT_MS) as watch:
            return await self.live.quoted(watch)

    async def _market(self, text: str, depth: AnalysisDepth) -> MarketPart:
        async with self.live.watching(text, wait_ms=WAIT_MS) as watch:
            day = await self._day_volatility(watch.rules.symbol) if depth == "deep" else None
            view = await self.live.book(watch, BOOK_LEVELS)
            cost = await order_cost(self.live, watch, view)
            to_ms = settled_ms(self.live.time.now_ms())
            return MarketPart(
                book=touch_of(view, cost),
                flow=_taped_flow(watch, self.live.time.now_ms()),
                anomalies=self.anomalies.assess(watch, view, WINDOW_MS[depth]),
                health=self.health.assess(watch, view, RESILIENCE_MS),
                day_volatility=day,
                paid=takers_paid(watch, Window(to_ms - PAID_MS, to_ms)),
            )

    async def _day_volatility(self, symbol: Symbol) -> float | None:
        """Return the usual move of one minute, from a day of bars. If it is None, the caller uses the last hour."""
        step_ms = INTERVAL_MS["5m"]
        to_ms = settled_ms(self.live.time.now_ms(), step_ms)
        try:
            bars = await closed_candles(self.client, symbol, "5m", to_ms - DAY_MS, to_ms)
        except RateLimited:
            raise
        except AppError:
            return None
        return minute_volatility([float(each.close) for each in bars], step_ms)


def _taped_flow(watch: Watch, now_ms: int) -> TakerFlow | None:
    """Return the takers' flow of the last five minutes, or None while the tape does not cover them."""
    to_ms = settled_ms(now_ms)
    trades = taped(watch, Window(to_ms - FLOW_MS, to_ms))
    return None if trades is None else flow_of_tape(trades, FLOW_MS, to_ms)
