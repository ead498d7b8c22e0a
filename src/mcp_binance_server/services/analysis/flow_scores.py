"""Past order flow of a symbol, from candles: earlier windows to rank the current one, and a week for VPIN."""

from dataclasses import dataclass, field

from mcp_binance_server.analytics.flow.vpin import SidedVolume, Vpin, vpin
from mcp_binance_server.analytics.flow.window_scores import MOST_WINDOWS, ONE_SIDED, FlowScores, past_windows
from mcp_binance_server.analytics.metric import Unknown, WhyNull, Window
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.errors import AppError, RateLimited
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.tape_window import (
    A_PAGE,
    INTERVAL_MS,
    RecentResults,
    closed_candles,
    settled_ms,
)

MINUTE_MS = 60_000
# Time step of the earlier windows. Within a step, repeated requests use the cache.
STEP_MS = 300_000
VPIN_STEP_MS = 900_000
WEEK_MS = 7 * 86_400_000
MOST_PAGES = 4
MOST_KEPT = 200


@dataclass(frozen=True, slots=True)
class FlowScoreCache:
    """Cache of VPIN and of earlier windows by symbol and length. An entry is used until the next time step."""

    client: SpotClient
    _pasts: RecentResults[FlowScores] = field(default_factory=lambda: RecentResults[FlowScores](MOST_KEPT), repr=False)
    _vpins: RecentResults[Vpin] = field(default_factory=lambda: RecentResults[Vpin](MOST_KEPT), repr=False)

    async def before(self, symbol: Symbol, window: Window, thresholds: Thresholds) -> FlowScores | WhyNull:
        """Return the windows of equal length before this one, or the reason why there are none.

        Raises:
            RateLimited: a partial answer would only cause more requests.
        """
        length_ms = window.to_ms - window.from_ms
        until_ms = window.from_ms // STEP_MS * STEP_MS
        key = symbol, length_ms, until_ms
        kept = self._pasts.get(key)
        if kept is not None:
            return kept
        # Whole minutes take one call where seconds would take many. The 1 s candles reach as far as four calls allow.
        interval = "1s" if length_ms % MINUTE_MS else "1m"
        page_ms = A_PAGE * INTERVAL_MS[interval]
        pages = min(MOST_PAGES, -(-MOST_WINDOWS * length_ms // page_ms))
        if pages * page_ms < ONE_SIDED.least * length_ms:
            return "insufficient_history"
        try:
            candles = await closed_candles(self.client, symbol, interval, until_ms - pages * page_ms, until_ms)
        except RateLimited:
            raise
        except AppError:
            return "upstream_unavailable"
        return self._pasts.keep(key, past_windows(candles, length_ms, until_ms, minimum=thresholds.min_events))

    async def vpin(self, symbol: Symbol, now_ms: int, thresholds: Thresholds) -> Vpin | Unknown:
        """Return the VPIN of the last week. It changes every quarter of an hour.

        Raises:
            RateLimited: a partial answer would only cause more requests.
        """
        to_ms = settled_ms(now_ms, VPIN_STEP_MS)
        kept = self._vpins.get((symbol, to_ms))
        if kept is not None:
            return kept
        try:
            bars = await closed_candles(self.client, symbol, "5m", to_ms - WEEK_MS, to_ms)
        except RateLimited:
            raise
        except AppError:
            return Unknown("upstream_unavailable")
        if len(bars) * INTERVAL_MS["5m"] < WEEK_MS:
            return Unknown("insufficient_history")
        sides = [SidedVolume(float(each.taker_buy_volume), float(each.volume - each.taker_buy_volume)) for each in bars]
        return self._vpins.keep((symbol, to_ms), vpin(sides, thresholds.vpin_buckets))
