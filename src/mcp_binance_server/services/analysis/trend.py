"""Trend analysis: its inputs are read concurrently, then judged by pure functions."""

from dataclasses import dataclass
from typing import Any

from mcp_binance_server.analytics.book.report import QUIET_GAPS
from mcp_binance_server.analytics.indicators.talipp_adapter import ONE_REQUEST, closed_window
from mcp_binance_server.analytics.liquidity.stops import noise_of
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.analytics.trend.outlook import TradingReport, judge
from mcp_binance_server.domain.market import MarketView, Sourced
from mcp_binance_server.domain.periods import DAY_MS, Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.noise import read_day
from mcp_binance_server.services.analysis.size import SizeService
from mcp_binance_server.services.gathering import Part, gather
from mcp_binance_server.services.market.service import MarketService

# A day of 3-minute bars takes one call. A day of 1-minute bars would take two.
PROFILE_INTERVAL: Interval = "3m"
PROFILE_BARS = 480
# The exchange sends a ticker every second. After ten times that, its data are too old to be judged.
QUIET_MS = 10_000


@dataclass(frozen=True, slots=True)
class AnalysisService:
    """Queries of the prompts and the analysis tools."""

    market: MarketService
    client: SpotClient
    size: SizeService
    thresholds: Thresholds = DEFAULTS

    async def trading(self, text: str, strategy: Strategy, risk: RiskTolerance) -> TradingReport:
        """Judge a symbol for one long trade. Without candles, only the day is judged, and the page says so."""
        symbol = await self.market.directory.expect(text)
        ticker, hourly, day, sizing, bars = await gather(
            lambda: self.market.priced(text),
            lambda: self._bars(symbol, "1h", ONE_REQUEST),
            lambda: self._bars(symbol, PROFILE_INTERVAL, PROFILE_BARS),
            lambda: self.size.read(symbol),
            lambda: read_day(self.client, symbol, self.market.time.now_ms()),
        )
        view = ticker.required()
        await self.client.pace.step()
        outlook = judge(
            view.ticker,
            view.rules,
            hourly=self._closed(hourly.value),
            day_bars=self._closed(day.value),
            strategy=strategy,
            risk=risk,
            thresholds=self.thresholds,
            is_stale=self._is_stale(view, hourly.value),
            noise=noise_of(bars.value or (), self._closed(hourly.value) or ()),
        )
        missing = _missing({"hourly candles": hourly, "candles of the day": day, "order book": sizing})
        newest = hourly.value.value[-1].close if hourly.value and hourly.value.value else None
        candles_ms = hourly.value.at_ms if hourly.value else None
        size = await self.size.size(view, outlook, sizing.value)
        unread = sizing.value.missing if sizing.value else ()
        return TradingReport(view, outlook, size, (*missing, *unread), self.thresholds, newest, candles_ms)

    async def _bars(self, symbol: Symbol, interval: Interval, limit: int) -> Sourced[tuple[Candle, ...]]:
        return await self.client.candles(symbol, interval, limit)

    def _is_stale(self, view: MarketView, hourly: Sourced[tuple[Candle, ...]] | None) -> bool:
        """Return whether the market has stopped: its running hourly candle ended too long ago to be judged.

        Without candles the close time of the ticker counts.
        """
        trades = view.ticker.trade_count
        if not trades or hourly is None or not hourly.value:
            return bool(trades) and view.age_ms > QUIET_MS
        # Without a trade, the candle of a new hour can be missing.
        over_ms = self.market.time.now_ms() - hourly.value[-1].close_time_ms
        return over_ms > max(QUIET_MS, QUIET_GAPS * DAY_MS // trades)

    def _closed(self, bars: Sourced[tuple[Candle, ...]] | None) -> tuple[Candle, ...] | None:
        return None if bars is None else tuple(closed_window(bars.value, self.market.time.now_ms()))


def _missing(parts: dict[str, Part[Any]]) -> tuple[str, ...]:
    return tuple(f"{name}: {part.failure.message}" for name, part in parts.items() if part.failure is not None)
