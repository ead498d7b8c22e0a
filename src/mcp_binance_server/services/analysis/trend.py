"""Analyses: gather what one needs, side by side, and let pure functions judge."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mcp_binance_server.analytics.indicators.talipp_adapter import ONE_REQUEST, closed_window
from mcp_binance_server.analytics.thresholds import DEFAULTS, RiskTolerance, Strategy, Thresholds
from mcp_binance_server.analytics.trend.outlook import Equity, TradingReport, judge
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.account.portfolio import AccountService
from mcp_binance_server.services.gathering import Part, gather
from mcp_binance_server.services.market.service import MarketService

# A day in bars of three minutes is one call; bars of one minute would be two.
PROFILE_INTERVAL: Interval = "3m"
PROFILE_BARS = 480
ROUND_EQUITY = Equity(Decimal(10_000), is_own=False)
DOLLAR_QUOTES = frozenset({"USDT", "USDC", "FDUSD"})


@dataclass(frozen=True, slots=True)
class AnalysisService:
    """What the prompts and the analysis tools ask."""

    market: MarketService
    client: SpotClient
    account: AccountService
    thresholds: Thresholds = DEFAULTS

    async def trading(self, text: str, strategy: Strategy, risk: RiskTolerance) -> TradingReport:
        """Judge a symbol for one long trade; without candles the day alone is judged, and the page says so."""
        symbol = await self.market.directory.expect(text)
        ticker, hourly, day, own = await gather(
            lambda: self.market.ticker(text),
            lambda: self._bars(symbol, "1h", ONE_REQUEST),
            lambda: self._bars(symbol, PROFILE_INTERVAL, PROFILE_BARS),
            lambda: self._equity(text),
        )
        view = ticker.required()
        rules = view.rules
        equity = own.value or (ROUND_EQUITY if rules.quote in DOLLAR_QUOTES else None)
        await self.client.pace.step()
        outlook = judge(
            view.ticker,
            rules,
            hourly=self._closed(hourly.value),
            day_bars=self._closed(day.value),
            strategy=strategy,
            risk=risk,
            equity=equity.amount if equity else None,
            thresholds=self.thresholds,
        )
        missing = _missing({"hourly candles": hourly, "candles of the day": day, "your account": own})
        newest = hourly.value[-1].close if hourly.value else None
        return TradingReport(view, outlook, equity, missing, self.thresholds, newest)

    async def _equity(self, text: str) -> Equity | None:
        if not self.account.has_key or (await self.market.rules(text)).quote not in DOLLAR_QUOTES:
            return None
        total = (await self.account.valued()).portfolio.total
        return Equity(total, is_own=True) if total else None

    async def _bars(self, symbol: Symbol, interval: Interval, limit: int) -> tuple[Candle, ...]:
        return tuple((await self.client.candles(symbol, interval, limit)).value)

    def _closed(self, bars: tuple[Candle, ...] | None) -> tuple[Candle, ...] | None:
        return None if bars is None else tuple(closed_window(bars, self.market.time.now_ms()))


def _missing(parts: dict[str, Part[Any]]) -> tuple[str, ...]:
    return tuple(f"{name}: {part.failure.message}" for name, part in parts.items() if part.failure is not None)
