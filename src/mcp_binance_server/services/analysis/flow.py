"""Order flow of takers, from the live trades if they cover the window, and otherwise from REST requests."""

from dataclasses import dataclass, field, replace
from functools import partial

import anyio.to_thread

from mcp_binance_server.analytics.flow.book_events import QueueFlow
from mcp_binance_server.analytics.flow.direction import FlowDirection, flow_direction, unjudged
from mcp_binance_server.analytics.flow.report import (
    FlowReport,
    FlowSample,
    References,
    reference_levels,
    sample_of_candles,
    sample_of_trades,
)
from mcp_binance_server.analytics.flow.volume import LargeTrades, large_trades
from mcp_binance_server.analytics.flow.window_scores import FlowScores
from mcp_binance_server.analytics.market.glance import TouchReport, touch_of
from mcp_binance_server.analytics.market.profile import ProfileReport
from mcp_binance_server.analytics.metric import Unknown, WhyNull, Window
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.price_reading import PriceReading
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.cost import order_cost
from mcp_binance_server.services.analysis.flow_live import (
    QuoteFlow,
    level_rates,
    price_impact,
    quote_flow,
    takers_paid,
)
from mcp_binance_server.services.analysis.flow_scores import FlowScoreCache
from mcp_binance_server.services.analysis.liquidity import VolumeProfileService
from mcp_binance_server.services.analysis.tape_window import (
    A_PAGE,
    RecentResults,
    closed_candles,
    covered_from_ms,
    settled_ms,
    tape_progress,
    taped,
)
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.live.service import CHEAP_LEVELS, DEEP_LEVELS, LiveService, Watch

SECOND_MS = 1_000
MINUTE_MS = 60_000
# Span of the 1 s candles that one call returns.
CANDLES_MS = A_PAGE * SECOND_MS
PROMPT_WAIT_MS = 1_500
PROFILE_HOURS = 24
SWING_BARS = 240
MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class OrderFlowService:
    """Order flow in windows of whole seconds, up to the newest final second."""

    live: LiveService
    client: SpotClient
    profiles: VolumeProfileService
    pasts: FlowScoreCache
    _judged: RecentResults[FlowDirection] = field(
        default_factory=lambda: RecentResults[FlowDirection](MOST_KEPT), repr=False
    )

    async def flow(self, text: str, window_secs: int) -> FlowReport:
        """Measure the last seconds from the data at hand. The symbol is streamed from now on."""
        async with self.live.watching(text) as watch:
            symbol, now_ms = watch.rules.symbol, self.live.time.now_ms()
            report, led = await gather(
                lambda: self._report(watch, window_secs * SECOND_MS),
                lambda: self.pasts.vpin(symbol, now_ms, self.live.thresholds),
            )
            return replace(report.required(), vpin=led.required())

    async def signal(self, text: str, window_minutes: int) -> FlowReport:
        """Measure the order flow of the last minutes, and the reference levels for a trade."""
        async with self.live.watching(text, wait_ms=PROMPT_WAIT_MS) as watch:
            report, traded, touch, quoted = await gather(
                lambda: self._report(watch, window_minutes * MINUTE_MS),
                lambda: self.profiles.profile(text, PROFILE_HOURS, with_price=False),
                lambda: self._touch(watch),
                lambda: self.live.quoted(watch),
            )
            parts = {"reference levels": traded, "order book": touch, "current price": quoted}
            reading = quoted.value.reading if quoted.value else None
            bars = traded.value.bars if traded.value else ()
            page = replace(
                report.required(),
                touch=touch.value,
                reading=reading,
                references=self._references(traded.value, reading) if traded.value else None,
                closed_ms=traded.value.window.to_ms if traded.value else None,
                close=bars[-1].close if bars else None,
                missing=tuple(f"{name}: {part.failure.message}" for name, part in parts.items() if part.failure),
            )
            if page.is_contradictory:
                return replace(page, direction=unjudged(page.direction, "contradiction"))
            return page

    async def _report(self, watch: Watch, requested_ms: int) -> FlowReport:
        to_ms = settled_ms(self.live.time.now_ms())
        asked = Window(to_ms - requested_ms, to_ms)
        flow, large = await self._measured(watch, asked)
        past = await self._past(watch, flow, asked)
        now_ms = self.live.time.now_ms()
        quotes = quote_flow(watch, now_ms)
        # This computation takes a tenth of a second. It runs in a thread, so that book events do not wait.
        judged = self._judged.get((watch.rules.symbol, flow.window, past))
        direction, queues = await anyio.to_thread.run_sync(
            partial(_judge, flow, judged, past, quotes, self.live.thresholds)
        )
        self._judged.keep((watch.rules.symbol, flow.window, past), direction)
        newest = watch.feed.quotes.newest if watch.feed else None
        return FlowReport(
            rules=watch.rules,
            requested_ms=requested_ms,
            sample=flow,
            direction=direction,
            large=large,
            ofi=quotes if isinstance(quotes, Unknown) else quotes.ofi,
            queues=queues,
            paid=takers_paid(watch, asked),
            impact=price_impact(watch, to_ms),
            rates=level_rates(watch, asked, now_ms),
            now_ms=now_ms,
            mid=(newest.state.bid + newest.state.ask) / 2 if newest else None,
            thresholds=self.live.thresholds,
        )

    async def _past(self, watch: Watch, flow: FlowSample, asked: Window) -> FlowScores | WhyNull:
        """Return earlier windows of equal length. A window that is known only in part cannot be compared with them."""
        if watch.is_frozen:
            return "stale_book"
        if flow.window != asked:
            return "insufficient_history"
        return await self.pasts.before(watch.rules.symbol, asked, self.live.thresholds)

    async def _measured(self, watch: Watch, asked: Window) -> tuple[FlowSample, LargeTrades | Unknown]:
        """Use the live trades if they reach at least as far back as one call for candles. Otherwise send requests."""
        window = Window(max(asked.from_ms, asked.to_ms - CANDLES_MS), asked.to_ms)
        covered_ms = covered_from_ms(watch)
        if covered_ms is not None and covered_ms <= window.from_ms:
            reached = Window(max(asked.from_ms, covered_ms), asked.to_ms)
            trades = taped(watch, reached)
            if trades is not None:
                before = taped(watch, Window(covered_ms, reached.from_ms)) or ()
                return sample_of_trades(trades, reached), large_trades(trades, before, thresholds=self.live.thresholds)
        symbol = watch.rules.symbol
        candles, page = await gather(
            lambda: closed_candles(self.client, symbol, "1s", window.from_ms, window.to_ms),
            lambda: self.client.aggregate_trades(symbol, A_PAGE),
        )
        large: LargeTrades | Unknown = watch.unknown
        if page.value is not None:
            newest = page.value.value
            large = self._awaited(watch, asked)
            if len(newest) < A_PAGE or newest[0].time_ms < window.from_ms:
                inside = [each for each in newest if window.from_ms <= each.time_ms < window.to_ms]
                before = [each for each in newest if each.time_ms < window.from_ms]
                large = large_trades(inside, before, thresholds=self.live.thresholds)
        return sample_of_candles(candles.required(), window), large

    def _awaited(self, watch: Watch, asked: Window) -> Unknown:
        waiting = tape_progress(watch, asked.to_ms - asked.from_ms, self.live.time.now_ms())
        return waiting if waiting.progress else Unknown("insufficient_history")

    async def _touch(self, watch: Watch) -> TouchReport:
        view = await self.live.book(watch, DEEP_LEVELS if watch.live else CHEAP_LEVELS)
        return touch_of(view, await order_cost(self.live, watch, view))

    def _references(self, traded: ProfileReport, reading: PriceReading | None) -> References:
        profile, bars = traded.profile, traded.bars[-SWING_BARS:]
        price = None if reading is None else reading.price
        return reference_levels(bars, profile.val, profile.vah, price=price, thresholds=self.live.thresholds)


def _judge(
    sample: FlowSample,
    judged: FlowDirection | None,
    past: FlowScores | WhyNull,
    quotes: QuoteFlow | Unknown,
    thresholds: Thresholds,
) -> tuple[FlowDirection, QueueFlow | None]:
    direction = judged or flow_direction(
        sample.seconds, sample.window, past, trades=sample.trades, gaps=sample.gaps, thresholds=thresholds
    )
    return direction, None if isinstance(quotes, Unknown) else quotes.queues()
