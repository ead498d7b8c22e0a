"""Order flow: what takers did, at once from candles and REST, and from the live tape as soon as that covers it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import anyio.to_thread

from mcp_binance_server.analytics.envelope import Progress, Unknown, Window
from mcp_binance_server.analytics.flow.book_events import OrderFlowImbalance, order_flow_imbalance
from mcp_binance_server.analytics.flow.direction import FlowDirection, Vpin, flow_direction, vpin
from mcp_binance_server.analytics.flow.report import (
    FlowReport,
    FlowSample,
    LevelRates,
    References,
    reference_levels,
    sample_of_candles,
    sample_of_trades,
)
from mcp_binance_server.analytics.flow.volume import LargeTrades, large_trades
from mcp_binance_server.analytics.thresholds import Thresholds
from mcp_binance_server.domain.market import Trade
from mcp_binance_server.domain.money import STABLECOINS
from mcp_binance_server.errors import AppError
from mcp_binance_server.exchange.spot.rest import SpotClient
from mcp_binance_server.services.analysis.liquidity import VolumeProfileService
from mcp_binance_server.services.analysis.tape_window import (
    A_PAGE,
    RecentResults,
    closed_candles,
    collecting,
    covered_from_ms,
    settled_ms,
    tape_progress,
    taped,
)
from mcp_binance_server.services.gathering import gather
from mcp_binance_server.services.live.service import LiveService, Watch

SECOND_MS = 1_000
MINUTE_MS = 60_000
OFI_MS = 10_000
# As much as one call tells.
CANDLES_MS = A_PAGE * SECOND_MS
PROMPT_WAIT_MS = 1_500
PROFILE_HOURS = 24
SWING_BARS = 240
MOST_KEPT = 100


@dataclass(frozen=True, slots=True)
class OrderFlowService:
    """Windows of whole seconds that end at the newest one nothing can be added to."""

    live: LiveService
    client: SpotClient
    profiles: VolumeProfileService
    _judged: RecentResults[FlowDirection] = field(
        default_factory=lambda: RecentResults[FlowDirection](MOST_KEPT), repr=False
    )

    async def flow(self, text: str, window_secs: int) -> FlowReport:
        """Measure the last seconds with what is known now; the symbol is streamed from here on."""
        async with self.live.watching(text) as watch:
            return await self._report(watch, window_secs * SECOND_MS)

    async def signal(self, text: str, window_minutes: int) -> FlowReport:
        """Measure the last minutes, and the levels that a trade would be measured against."""
        async with self.live.watching(text, wait_ms=PROMPT_WAIT_MS) as watch:
            report, levels = await gather(
                lambda: self._report(watch, window_minutes * MINUTE_MS), lambda: self._references(text)
            )
            missing = (f"reference levels: {levels.failure.message}",) if levels.failure else ()
            return replace(report.required(), references=levels.value, missing=missing)

    async def _report(self, watch: Watch, requested_ms: int) -> FlowReport:
        to_ms = settled_ms(self.live.time.now_ms())
        asked = Window(to_ms - requested_ms, to_ms)
        flow, large = await self._measured(watch, asked)
        from_ms = covered_from_ms(watch) if flow.source == "aggTrade" else None
        bucket = await self._bucket_volume(watch) if from_ms is not None else None
        tape = watch.feed.tape.window(from_ms).trades if watch.feed and from_ms is not None else ()
        # A tenth of a second of arithmetic must not keep the books from their events.
        judged = self._judged.get((watch.rules.symbol, flow.window))
        direction, led = await anyio.to_thread.run_sync(
            partial(_judge, flow, judged, tape, bucket, self.live.thresholds)
        )
        self._judged.keep((watch.rules.symbol, flow.window), direction)
        now_ms = self.live.time.now_ms()
        return FlowReport(
            rules=watch.rules,
            requested_ms=requested_ms,
            sample=flow,
            direction=direction,
            large=large,
            ofi=_ofi(watch, now_ms),
            vpin=led,
            rates=_rates(watch, asked, now_ms),
            now_ms=now_ms,
            thresholds=self.live.thresholds,
        )

    async def _measured(self, watch: Watch, asked: Window) -> tuple[FlowSample, LargeTrades | Unknown]:
        """Take the tape where it reaches at least as far back as one call for candles would, else ask."""
        # The floor is a sum of dollars; for another quote asset only the percentile can tell what is large.
        is_dollar = watch.rules.quote in STABLECOINS
        limits = self.live.thresholds if is_dollar else replace(self.live.thresholds, large_trade_quote=0.0)
        window = Window(max(asked.from_ms, asked.to_ms - CANDLES_MS), asked.to_ms)
        covered_ms = covered_from_ms(watch)
        if covered_ms is not None and covered_ms <= window.from_ms:
            reached = Window(max(asked.from_ms, covered_ms), asked.to_ms)
            trades = taped(watch, reached)
            if trades is not None:
                return sample_of_trades(trades, reached), large_trades(trades, thresholds=limits)
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
                large = large_trades(inside, thresholds=limits)
        return sample_of_candles(candles.required(), window), large

    def _awaited(self, watch: Watch, asked: Window) -> Unknown:
        waiting = tape_progress(watch, asked.to_ms - asked.from_ms, self.live.time.now_ms())
        return waiting if waiting.progress else Unknown("insufficient_history")

    async def _bucket_volume(self, watch: Watch) -> float | None:
        """Return the bucket's part of the last whole day's volume."""
        try:
            days = (await self.client.daily_candles(watch.rules.symbol, 2)).value
        except AppError:
            return None
        return float(days[0].volume) / self.live.thresholds.vpin_buckets if len(days) > 1 else None

    async def _references(self, text: str) -> References:
        report = await self.profiles.profile(text, PROFILE_HOURS, with_price=False)
        profile, bars = report.profile, report.bars[-SWING_BARS:]
        return reference_levels(bars, profile.val, profile.vah, thresholds=self.live.thresholds)


def _judge(
    sample: FlowSample,
    judged: FlowDirection | None,
    tape: Sequence[Trade],
    bucket: float | None,
    thresholds: Thresholds,
) -> tuple[FlowDirection, Vpin | Unknown]:
    direction = judged or flow_direction(sample.seconds, sample.window, gaps=sample.gaps, thresholds=thresholds)
    if not tape:
        return direction, Unknown("insufficient_buckets")
    if bucket is None:
        return direction, Unknown("insufficient_history")
    return direction, vpin(tape, bucket, thresholds.vpin_buckets)


def _ofi(watch: Watch, now_ms: int) -> OrderFlowImbalance | Unknown:
    if watch.feed is None:
        return watch.unknown
    seen = watch.feed.quotes.since(0)
    have_ms = now_ms - seen[0].time_ms if seen else 0
    if have_ms < OFI_MS:
        progress = Progress(
            have_ms=have_ms, need_ms=OFI_MS, ready_ms=now_ms + OFI_MS - have_ms, have_n=max(0, len(seen) - 1),
            need_n=watch.thresholds.min_events,
        )  # fmt: skip
        return Unknown("collecting", progress)
    # The state before the window is where its first change begins.
    before = sum(each.time_ms < now_ms - OFI_MS for each in seen)
    states = [each.state for each in seen[max(0, before - 1) :]]
    return order_flow_imbalance(states, minimum=watch.thresholds.min_events)


def _rates(watch: Watch, asked: Window, now_ms: int) -> LevelRates | Unknown:
    if watch.feed is None:
        return watch.unknown
    rows = watch.feed.seconds.since(asked.from_ms)
    if not rows:
        return collecting(0, asked.to_ms - asked.from_ms, now_ms)
    count = len(rows)
    bids, asks = sum(each.additions_bid for each in rows), sum(each.additions_ask for each in rows)
    return LevelRates(bids / count, asks / count, count)
