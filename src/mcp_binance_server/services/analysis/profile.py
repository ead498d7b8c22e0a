"""Where volume was traded over hours: from every trade where they are few, else from candles."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mcp_binance_server.analytics.envelope import Source, Window
from mcp_binance_server.analytics.market.profile import (
    ProfileReport,
    VolumeProfile,
    profile_of_candles,
    profile_of_trades,
)
from mcp_binance_server.analytics.thresholds import DEFAULTS, Rows, Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle, Interval
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.tape_window import (
    A_PAGE,
    INTERVAL_MS,
    Kept,
    closed_candles,
    settled_ms,
    trades_between,
)
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.market.service import MarketService

HOUR_MS = 3_600_000
# Bars of a minute for a day are two calls, bars of five for a week three.
MINUTE_HOURS = 24
MOST_PAGES = 5
# More rows than these say no more to a reader; a narrower bin is widened, and the answer states it.
MOST_BINS = 200
MOST_KEPT = 20


class _Traded(NamedTuple):
    profile: VolumeProfile
    bars: tuple[Candle, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class VolumeProfileService:
    """Profiles of the hours up to the newest closed bar."""

    market: MarketService
    client: SpotClient
    thresholds: Thresholds = DEFAULTS
    _made: Kept[_Traded] = field(default_factory=lambda: Kept[_Traded](MOST_KEPT), repr=False)

    async def profile(
        self, text: str, hours: int, *, bin_size: Price | None = None, rows: Rows | None = None, with_price: bool = True
    ) -> ProfileReport:
        """Return the profile of the last hours, and the price now unless the caller has it."""
        rules = await self.market.rules(text)
        interval: Interval = "1m" if hours <= MINUTE_HOURS else "5m"
        now_ms = self.market.time.now_ms()
        to_ms = settled_ms(now_ms, INTERVAL_MS[interval])
        window = Window(to_ms - hours * HOUR_MS, to_ms)
        traded, price = await gather(
            lambda: self._traded(rules, interval, window, bin_size, rows or self.thresholds.profile_rows),
            lambda: self._price(rules.symbol, asked=with_price),
        )
        found: _Traded = traded.required()
        return ProfileReport(
            rules=rules,
            profile=found.profile,
            window=window,
            bars=found.bars,
            interval_ms=INTERVAL_MS[interval],
            source=found.source,
            price=price.value,
            now_ms=self.market.time.now_ms(),
        )

    async def _traded(
        self, rules: SymbolRules, interval: Interval, window: Window, bin_size: Price | None, rows: Rows
    ) -> _Traded:
        """Make the profile of a window that has ended, or take the one that was made before."""
        key = rules.symbol, window, bin_size, rows
        made = self._made.get(key)
        if made is not None:
            return made
        bars = await closed_candles(self.client, rules.symbol, interval, window.from_ms, window.to_ms)
        trades = await self._trades(rules.symbol, window, bars)
        thresholds = replace(self.thresholds, profile_rows=rows, profile_max_bins=MOST_BINS)
        if trades is None:
            profile = profile_of_candles(bars, rules.tick, bin_size=bin_size, thresholds=thresholds)
            return self._made.keep(key, _Traded(profile, bars, "klines"))
        profile = profile_of_trades(trades, rules.tick, bin_size=bin_size, thresholds=thresholds)
        return self._made.keep(key, _Traded(profile, bars, "aggTrades"))

    async def _price(self, symbol: Symbol, *, asked: bool) -> Price | None:
        if not asked:
            return None
        ticker = (await self.client.ticker(symbol)).value
        return ticker.last_price if ticker.has_traded else None

    async def _trades(self, symbol: Symbol, window: Window, bars: Sequence[Candle]) -> tuple[Trade, ...] | None:
        # Candles count every fill, so there are at most as many aggregates, and as many pages.
        if sum(each.trade_count for each in bars) > MOST_PAGES * A_PAGE:
            return None
        return await trades_between(self.client, symbol, window.from_ms, window.to_ms, MOST_PAGES + 1)
