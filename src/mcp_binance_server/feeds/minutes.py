"""Analysis of a symbol's minutes, and its current stress and health. Pure: the caller passes in the events."""

from collections import deque

from mcp_binance_server.analytics.book.grid import PriceGrid
from mcp_binance_server.analytics.book.outcomes import FollowedSizes
from mcp_binance_server.analytics.market.health import LEAST_MINUTES, HealthMeter, HealthNow
from mcp_binance_server.analytics.market.last_hour import HEALTH_EVERY_S, STRESS_EVERY_S
from mcp_binance_server.analytics.market.minute import SECONDS, BookMoment, DepthMessage, MinuteReader
from mcp_binance_server.analytics.market.stress import StressMeter, StressNow
from mcp_binance_server.analytics.market.symbol_scores import EndedMinute, SymbolScores
from mcp_binance_server.domain.market import BookDelta, Trade
from mcp_binance_server.feeds.book import LocalBook
from mcp_binance_server.feeds.sampling import SizesNear

# The longest window that a request can ask for.
MOST_ENDED = 5
MINUTE_MS = 60_000


class SymbolMinutes:
    """Analysis of each complete minute of a symbol. It needs the symbol's price grid.

    Each symbol counts `second` from its own epoch, so that minutes do not all end at once. After a missed event, the
    current minute is neither scored nor added to the history.
    """

    __slots__ = ("_followed", "_grid", "_health", "_pasts", "_reader", "_second", "_stress", "ended")

    def __init__(self) -> None:
        self.ended: deque[EndedMinute] = deque(maxlen=MOST_ENDED)
        self._pasts = SymbolScores()
        self._grid: PriceGrid | None = None
        self._health: HealthMeter | None = None
        self._stress = StressMeter()
        self._followed = FollowedSizes()
        self._reader: MinuteReader | None = None
        self._second: int | None = None

    @property
    def pasts(self) -> SymbolScores:
        """History of scores that each minute is compared with. Set it to continue a stored history."""
        return self._pasts

    @pasts.setter
    def pasts(self, pasts: SymbolScores) -> None:
        self._pasts = pasts
        self._compare()

    @property
    def health(self) -> HealthNow | None:
        return None if self._health is None else self._health.now

    @property
    def stress(self) -> StressNow:
        return StressNow(*self._pasts.stress(self._stress.parts()))

    @property
    def grid(self) -> PriceGrid | None:
        return self._grid

    def measure_in(self, grid: PriceGrid) -> None:
        """Start the analysis. If the grid is unchanged, continue it."""
        if grid == self._grid or grid.tick <= 0:
            return
        self._grid = grid
        self._health = HealthMeter(grid)
        self.break_off()
        self._compare()

    def on_trade(self, second: int, trade: Trade) -> None:
        """Add a trade. Its ID must directly follow the last one."""
        if self._reader is not None:
            price, quantity = float(trade.price), float(trade.quantity)
            self._reader.on_trade(second % SECONDS, trade.time_ms, price, quantity, sold=trade.buyer_is_maker)
            self._followed.on_trade("bid" if trade.buyer_is_maker else "ask", price, quantity)

    def on_depth(self, second: int, delta: BookDelta, book: LocalBook) -> None:
        """Add the next depth event, before it is applied to the book."""
        if self._reader is None:
            return
        updates = delta.last_update_id - delta.first_update_id + 1
        message = DepthMessage(delta.event_ms, updates, delta.bids, delta.asks)
        self._reader.on_depth(second % SECONDS, message, book.size_at)

    def on_second(self, second: int, end_ms: int, moment: BookMoment, book: LocalBook, sizes: SizesNear) -> None:
        """Add the book at the end of a second. The last second of a minute also scores the minute."""
        grid, health = self._grid, self._health
        if grid is None or health is None:
            return
        if self._second is not None and second != self._second + 1:
            self.break_off()
        self._second = second
        self._stress.add(moment)
        health.add(moment)
        place = second % SECONDS
        if self._reader is not None:
            self._reader.on_second(place, moment, sizes.levels)
            for left in self._followed.on_second(book.size_between):
                self._pasts.outcomes.add(left)
        hour = self._pasts.hour
        if place % HEALTH_EVERY_S == HEALTH_EVERY_S - 1:
            hour.add_health(grid.ticks(moment.spread), moment.thinner)
        if place % STRESS_EVERY_S == STRESS_EVERY_S - 1 and (parts := self._stress.parts()) is not None:
            hour.add_stress(parts)
        if place == SECONDS - 1:
            self._end(end_ms)
            self._compare()
            self._reader = MinuteReader(grid, moment)

    def skip(self) -> None:
        """Discard the current minute, because a trade is missing."""
        self._reader = None
        self._followed.clear()

    def break_off(self) -> None:
        """Start over after a gap. No minute and no price move may include the gap."""
        self.skip()
        self._second = None
        self._stress.clear()
        if self._health is not None:
            self._health.clear()

    def _end(self, end_ms: int) -> None:
        if self._reader is None:
            return
        facts = self._reader.facts()
        newest = self.ended[-1] if self.ended else None
        before = newest if newest is not None and end_ms - newest.end_ms == MINUTE_MS else None
        ended = self._pasts.judge(facts, end_ms, before)
        if facts.standing is not None:
            for each in reversed(self._pasts.large_standing(facts)):
                self._followed.follow(each, facts.standing.step)
        self._pasts.learn(facts, ended)
        self._pasts.learn_stress(self._stress.parts())
        self.ended.append(ended)

    def _compare(self) -> None:
        if self._health is not None and self._pasts.hour.health_minutes >= LEAST_MINUTES:
            self._health.compare_with(self._pasts.hour.health_scale())
