"""Trend analysis: its inputs are read concurrently, then judged by pure functions."""

from dataclasses import dataclass
from typing import Any

from mcp_binance_server.analytics.indicators.talipp_adapter import ONE_REQUEST, closed_window
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.analytics.trend.outlook import TradingReport, judge
from mcp_binance_server.domain.market import Sourced
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.size import SizeService
from mcp_binance_server.services.gathering import Part, gather
from mcp_binance_server.services.market.service import MarketService

# A day of 3-minute bars takes one call. A day of 1-minute bars would take two.
PROFILE_INTERVAL: Interval = "3m"
PROFILE_BARS = 480


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
        ticker, hourly, day, sizing = await gather(
            lambda: self.market.priced(text),
            lambda: self._bars(symbol, "1h", ONE_REQUEST),
            lambda: self._bars(symbol, PROFILE_INTERVAL, PROFILE_BARS),
            lambda: self.size.read(symbol),
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
        )
        missing = _missing({"hourly candles": hourly, "candles of the day": day, "order book": sizing})
        newest = hourly.value.value[-1].close if hourly.value and hourly.value.value else None
        candles_ms = hourly.value.at_ms if hourly.value else None
        size = await self.size.size(view, outlook, sizing.value)
        unread = sizing.value.missing if sizing.value else ()
        return TradingReport(view, outlook, size, (*missing, *unread), self.thresholds, newest, candles_ms)

    async def _bars(self, symbol: Symbol, interval: Interval, limit: int) -> Sourced[tuple[Candle, ...]]:
        return await self.client.candles(symbol, interval, limit)

    def _closed(self, bars: Sourced[tuple[Candle, ...]] | None) -> tuple[Candle, ...] | None:
        return None if bars is None else tuple(closed_window(bars.value, self.market.time.now_ms()))


def _missing(parts: dict[str, Part[Any]]) -> tuple[str, ...]:
    return tuple(f"{name}: {part.failure.message}" for name, part in parts.items() if part.failure is not None)
