"""Volume by price, and the prices at which a book can absorb a large order."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mcp_binance_server.analytics.book.grid import BookSide
from mcp_binance_server.analytics.book.metrics import top_of_book
from mcp_binance_server.analytics.book.report import LargestLevel, largest_levels
from mcp_binance_server.analytics.liquidity.low_volume import low_volume_ranges
from mcp_binance_server.analytics.liquidity.path import TradedPath, path_of_candles, path_of_trades
from mcp_binance_server.analytics.liquidity.report import (
    LiquidityReport,
    StandingReport,
    StopReport,
    ThinRangeReport,
    costs_of,
)
from mcp_binance_server.analytics.liquidity.stops import Noise, StopSide, stop_price
from mcp_binance_server.analytics.liquidity.thin_ranges import ThinRanges, thin_ranges
from mcp_binance_server.analytics.market.glance import FLOW_MS, TakerFlow, flow_of_bars, flow_of_tape, touch_of
from mcp_binance_server.analytics.market.profile import (
    ProfileReport,
    VolumeProfile,
    profile_of_candles,
    profile_of_trades,
)
from mcp_binance_server.analytics.metric import Source, Unknown, Window
from mcp_binance_server.analytics.thresholds import DEFAULTS, Rows, Thresholds
from mcp_binance_server.domain.market import PriceLevel, Trade
from mcp_binance_server.domain.money import STABLECOINS, Price
from mcp_binance_server.domain.periods import DAY_MS, Candle, Interval
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.domain.symbols import Symbol, SymbolRules
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.cost import order_cost
from mcp_binance_server.services.analysis.noise import read_noise
from mcp_binance_server.services.analysis.tape_window import (
    A_PAGE,
    INTERVAL_MS,
    RecentResults,
    closed_candles,
    settled_ms,
    taped,
    trades_between,
)
from mcp_binance_server.services.gathering import Part, gather
from mcp_binance_server.services.live.service import BookView, LiveService, Quoted, Watch
from mcp_binance_server.services.market.service import MarketService

MINUTE_MS = 60_000
MOST_PAGES = 5
# Longest window for 1 s bars, in minutes. It takes fifteen calls at most. Longer windows use 1 min bars.
SECOND_BARS_MINUTES = 239
PROMPT_WAIT_MS = 1_500
LIVE_LEVELS = 1_000
# Levels requested for a book without a stream. A thousand levels would cost twice the weight.
ASKED_LEVELS = 500
MOST_KEPT = 20

HOUR_MS = 3_600_000
# Longest span for 1 min bars, in hours. A day of them takes two calls; a week of 5 min bars takes three.
MINUTE_HOURS = 24
# More rows do not help a reader. A bin that is too narrow is widened, and the answer says so.
MOST_BINS = 200


class _TradedNow(NamedTuple):
    profile: VolumeProfile
    path: TradedPath
    window: Window
    coverage: float
    trades: int
    source: Source
    flow: TakerFlow
    close: Price | None


@dataclass(frozen=True, slots=True)
class LiquidityService:
    """Liquidity maps of one market around its price."""

    live: LiveService
    client: SpotClient
    _made: RecentResults[_TradedNow] = field(default_factory=lambda: RecentResults[_TradedNow](MOST_KEPT), repr=False)
    _judged: RecentResults[ThinRanges] = field(default_factory=lambda: RecentResults[ThinRanges](MOST_KEPT), repr=False)

    async def thin_ranges(
        self,
        text: str,
        minutes: int,
        percentile: int | None,
        *,
        side: StopSide = "long",
        horizon_ms: int = DAY_MS,
        chance: float | None = None,
    ) -> ThinRangeReport:
        """Find price ranges with little past trading.

        The stop also takes large resting orders of the book into account.
        """
        async with self.live.watching(text) as watch:
            quoted, traded, noise = await gather(
                lambda: self.live.quoted(watch), lambda: self._traded(watch, minutes), lambda: self._noise(watch)
            )
            now = quoted.required()
            standing = _standing(watch, self.live.time.now_ms())
            found = self._judge(watch, traded.required(), now)
            stop = _stop(watch, now, noise, found, standing, side=side, horizon_ms=horizon_ms, chance=chance)
            return self._report(
                watch,
                traded.required(),
                found,
                minutes=minutes,
                reading=now.reading,
                stop=stop,
                standing=standing,
                percentile=percentile,
            )

    async def map(self, text: str, minutes: int) -> LiquidityReport:
        """Collect thin ranges, large resting sizes and costs. A failed part is marked, and the rest is returned."""
        async with self.live.watching(text, wait_ms=PROMPT_WAIT_MS) as watch:
            quoted, traded, book, noise = await gather(
                lambda: self.live.quoted(watch),
                lambda: self._traded(watch, minutes),
                lambda: self.live.book(watch, LIVE_LEVELS if watch.live else ASKED_LEVELS),
                lambda: self._noise(watch),
            )
            now = quoted.required()
            view: BookView | None = book.value if book.value and book.value.snapshot.bids else None
            standing = _standing(watch, self.live.time.now_ms())
            found = None if traded.value is None else self._judge(watch, traded.value, now)
            stop = _stop(watch, now, noise, found, standing)
            thin = None
            if traded.value is not None and found is not None:
                thin = self._report(
                    watch, traded.value, found, minutes=minutes, reading=now.reading, stop=stop, standing=standing
                )
            is_dollar = watch.rules.quote in STABLECOINS
            return LiquidityReport(
                rules=watch.rules,
                reading=now.reading,
                thin=thin,
                standing=standing,
                largest=_largest(view),
                reach=None if view is None else view.reach,
                costs=costs_of(view.snapshot, is_dollar=is_dollar) if view else None,
                stop=stop,
                lookback_minutes=minutes,
                now_ms=self.live.time.now_ms(),
                touch=touch_of(view, await order_cost(self.live, watch, view)) if view else None,
                flow=traded.value.flow if traded.value else None,
                close=traded.value.close if traded.value else None,
                no_trades=traded.failure.message if traded.failure else "",
                no_book=book.failure.message if book.failure else "the book is empty",
                thresholds=self.live.thresholds,
            )

    async def _noise(self, watch: Watch) -> Noise | None:
        return await read_noise(self.client, watch.rules.symbol, self.live.time.now_ms())

    async def _traded(self, watch: Watch, minutes: int) -> _TradedNow:
        """Use every trade if a few calls suffice. Otherwise use the finest bars that the window allows."""
        now_ms, span_ms = self.live.time.now_ms(), minutes * MINUTE_MS
        to_ms = settled_ms(now_ms)
        window = Window(to_ms - span_ms, to_ms)
        symbol, tick = watch.rules.symbol, watch.rules.tick
        trades = taped(watch, window)
        if trades is not None:
            return self._of_trades(trades, tick, window, 1.0, "aggTrade")
        to_ms = settled_ms(now_ms, MINUTE_MS)
        window = Window(to_ms - span_ms, to_ms)
        key = symbol, window
        return self._made.get(key) or self._made.keep(key, await self._asked(watch.rules, window))

    async def _asked(self, rules: SymbolRules, window: Window) -> _TradedNow:
        symbol, tick, thresholds = rules.symbol, rules.tick, self.live.thresholds
        minutes = (window.to_ms - window.from_ms) // MINUTE_MS
        bars = await closed_candles(self.client, symbol, "1m", window.from_ms, window.to_ms)
        count = sum(each.trade_count for each in bars)
        coverage = len(bars) / minutes
        # Candles count every fill. So their count is an upper bound for the number of aggregate trades, and of pages.
        if count <= MOST_PAGES * A_PAGE:
            trades = await trades_between(self.client, symbol, window.from_ms, window.to_ms, MOST_PAGES + 1)
            if trades is not None:
                return self._of_trades(trades, tick, window, coverage, "aggTrades")
        source: Source = "klines"
        if minutes <= SECOND_BARS_MINUTES:
            seconds = await closed_candles(self.client, symbol, "1s", window.from_ms, window.to_ms)
            source, coverage = "klines_1s", len(seconds) / (minutes * 60)
            bars = tuple(each for each in seconds if each.volume)
        profile = profile_of_candles(bars, tick, thresholds=thresholds)
        path = path_of_candles(bars, tick, thresholds=thresholds)
        newest = [each for each in bars if each.open_time_ms >= window.to_ms - FLOW_MS]
        flow = flow_of_bars(newest, FLOW_MS, window.to_ms)
        return _TradedNow(profile, path, window, coverage, count, source, flow, bars[-1].close if bars else None)

    def _of_trades(
        self, trades: Sequence[Trade], tick: Price, window: Window, coverage: float, source: Source
    ) -> _TradedNow:
        profile = profile_of_trades(trades, tick, thresholds=self.live.thresholds)
        path = path_of_trades(trades, tick, thresholds=self.live.thresholds)
        # An aggregate trade counts as one trade, as in the other figures of the page.
        newest = [each for each in trades if each.time_ms >= window.to_ms - FLOW_MS]
        flow = replace(flow_of_tape(newest, FLOW_MS, window.to_ms), trades=len(newest))
        close = trades[-1].price if trades else None
        return _TradedNow(profile, path, window, coverage, len(trades), source, flow, close)

    def _judge(self, watch: Watch, traded: _TradedNow, quoted: Quoted) -> ThinRanges:
        """Compare a window with its shuffles, or return the cached result. This is the most expensive step here."""
        if watch.is_frozen:
            return ThinRanges(found=None, why_null="stale_book")
        key = watch.rules.symbol, traded.window, traded.source, quoted.spread
        made = self._judged.get(key)
        if made is not None:
            return made
        return self._judged.keep(key, thin_ranges(traded.path, quoted.spread, thresholds=self.live.thresholds))

    def _report(
        self,
        watch: Watch,
        traded: _TradedNow,
        found: ThinRanges,
        *,
        minutes: int,
        reading: PriceReading | None,
        stop: StopReport,
        standing: StandingReport,
        percentile: int | None = None,
    ) -> ThinRangeReport:
        return ThinRangeReport(
            rules=watch.rules,
            found=found,
            low_volume=None if percentile is None else low_volume_ranges(traded.profile, percentile),
            window=traded.window,
            requested_ms=minutes * MINUTE_MS,
            coverage=traded.coverage,
            trades=traded.trades,
            source=traded.source,
            reading=reading,
            stop=stop,
            standing=standing,
            now_ms=self.live.time.now_ms(),
            thresholds=self.live.thresholds,
        )


def _largest(view: BookView | None) -> dict[BookSide, LargestLevel]:
    if view is None:
        return {}
    bids, asks = view.snapshot.bids, view.snapshot.asks
    mid = top_of_book(bids, asks).mid
    sides: dict[BookSide, Sequence[PriceLevel]] = {"bid": bids, "ask": asks}
    return {side: found[0] for side, levels in sides.items() if (found := largest_levels(levels, mid))}


def _stop(
    watch: Watch,
    quoted: Quoted,
    noise: Part[Noise | None],
    found: ThinRanges | None,
    standing: StandingReport,
    *,
    side: StopSide = "long",
    horizon_ms: int = DAY_MS,
    chance: float | None = None,
) -> StopReport:
    if quoted.price is None:
        return StopReport(stop=None, noise=noise.value, why_null="no_trades")
    if noise.value is None:
        return StopReport(
            stop=None, noise=None, why_null="upstream_unavailable" if noise.failure else "insufficient_bars"
        )
    stop = stop_price(
        quoted.price,
        noise.value,
        tick=watch.rules.tick,
        spread=quoted.spread,
        thin=(found.found or ()) if found else (),
        standing=standing.prices,
        side=side,
        horizon_ms=horizon_ms,
        chance=chance,
    )
    return StopReport(stop=stop, noise=noise.value)


def _standing(watch: Watch, now_ms: int) -> StandingReport:
    """Return the feed's verdict on the last whole minute, if that minute ended less than two minutes ago."""
    feed = watch.feed
    if feed is None or watch.is_frozen:
        return StandingReport(unknown=watch.unknown if feed is None else Unknown("stale_book"))
    past = feed.pasts.scores["standing_size"]
    newest = feed.minutes.ended[-1] if feed.minutes.ended else None
    if newest is None or newest.end_ms <= now_ms - 2 * MINUTE_MS:
        return StandingReport(past_minutes=len(past), waiting=feed.pasts.standing_waits())
    verdict = newest.of("standing_size")
    return StandingReport(
        verdict=verdict,
        end_ms=newest.end_ms,
        changed=past.has_changed(),
        past_minutes=len(past),
        waiting=verdict.judgement.not_judged,
    )


class _Traded(NamedTuple):
    profile: VolumeProfile
    bars: tuple[Candle, ...]
    source: Source


@dataclass(frozen=True, slots=True)
class VolumeProfileService:
    """Volume profiles of the hours up to the newest closed bar."""

    market: MarketService
    client: SpotClient
    thresholds: Thresholds = DEFAULTS
    _made: RecentResults[_Traded] = field(default_factory=lambda: RecentResults[_Traded](MOST_KEPT), repr=False)

    async def profile(
        self, text: str, hours: int, *, bin_size: Price | None = None, rows: Rows | None = None, with_price: bool = True
    ) -> ProfileReport:
        """Return the profile of the last hours, and the current price unless `with_price` is False."""
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
            reading=price.value,
            now_ms=self.market.time.now_ms(),
        )

    async def _traded(
        self, rules: SymbolRules, interval: Interval, window: Window, bin_size: Price | None, rows: Rows
    ) -> _Traded:
        """Return the profile of a finished window. A repeated request is served from the cache."""
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

    async def _price(self, symbol: Symbol, *, asked: bool) -> PriceReading | None:
        if not asked:
            return None
        return (await self.market.priced(symbol)).reading

    async def _trades(self, symbol: Symbol, window: Window, bars: Sequence[Candle]) -> tuple[Trade, ...] | None:
        # Candles count every fill. So their count is an upper bound for the number of aggregate trades, and of pages.
        if sum(each.trade_count for each in bars) > MOST_PAGES * A_PAGE:
            return None
        return await trades_between(self.client, symbol, window.from_ms, window.to_ms, MOST_PAGES + 1)
