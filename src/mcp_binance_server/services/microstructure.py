"""The microstructure page's parts, gathered side by side: the profile by REST, the book and its past from the feed."""

from dataclasses import dataclass

from mcp_binance_server.analytics.book.metrics import capacity, imbalance_of_band, top_of_book
from mcp_binance_server.analytics.market.microstructure import (
    AnalysisDepth,
    MarketPart,
    MicrostructureReport,
    TouchReport,
)
from mcp_binance_server.analytics.market.stress import minute_volatility
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.rest import SpotClient
from mcp_binance_server.feeds.sampling import NEAR_BPS
from mcp_binance_server.services.anomalies import AnomalyService
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.history import INTERVAL_MS, closed_candles, settled_ms
from mcp_binance_server.services.live import BookView, LiveService
from mcp_binance_server.services.market_health import MarketHealthService
from mcp_binance_server.services.volume_profile import VolumeProfileService

WAIT_MS = 1_500
BOOK_LEVELS = 1_000
WINDOW_MS = 60_000
# A market order within this distance of the mid is called cheap.
CHEAP_BPS = 2
DAY_MS = 86_400_000
# The feed remembers an hour; a day of bars adds what is usual in volatility.
BASELINE_MS: dict[AnalysisDepth, int] = {"quick": 300_000, "standard": 3_600_000, "deep": 3_600_000}


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
