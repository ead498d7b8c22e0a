"""Everything one symbol has traded: candles of any span, trades by time and by id, at any moment, without warm-up."""

from collections.abc import Callable, Iterator

from mcp_binance_server.simulator.candle import Candle, Trade, fold, merge
from mcp_binance_server.simulator.hours import DAY_MS, HOUR_MS, first_aggregate_of, first_trade_of, hours_of
from mcp_binance_server.simulator.listing import Symbol
from mcp_binance_server.simulator.lru import Lru
from mcp_binance_server.simulator.prices import Prices
from mcp_binance_server.simulator.refine import refine
from mcp_binance_server.simulator.tape import MINUTE_MS, tape_of
from mcp_binance_server.simulator.temper import ORDINARY, Temper

QUARTER_MS = 15 * MINUTE_MS
LISTED_MS = 1_672_531_200_000  # 2023-01-01: the first trade of every symbol follows
LAST_DAY = 73_000  # late 2169


class History:
    """The trades of one symbol between its listing and `ended_ms`, seen up to a moment the caller names."""

    def __init__(
        self, symbol: Symbol, seed: int, prices: Prices, ended_ms: int | None, temper: Temper = ORDINARY
    ) -> None:
        self.symbol = symbol
        self.ended_ms = ended_ms
        self._seed = seed
        self._prices = prices
        self._temper = temper
        self._hours: Lru[int, tuple[Candle, ...]] = Lru(600)
        self._days: Lru[int, Candle | None] = Lru(4_000)
        self._quarters: Lru[int, tuple[Candle, ...]] = Lru(600)
        self._minutes: Lru[int, tuple[Candle, ...]] = Lru(600)
        self._windows: Lru[tuple[int, int], Candle | None] = Lru(5_000)
        self._tapes: Lru[int, tuple[Trade, ...]] = Lru(200)

    def until(self, now_ms: int) -> int:
        """Return the first moment whose trades nobody can have seen yet."""
        return now_ms + 1 if self.ended_ms is None else min(now_ms + 1, self.ended_ms)

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Add up the trades with start <= time < end; None when there are none."""
        return self._windows.get((start_ms, end_ms), lambda: merge(self._parts(max(start_ms, LISTED_MS), end_ms)))

    def last(self, end_ms: int) -> Trade | None:
        """Return the newest trade before `end_ms`."""
        return next(self.backward(end_ms), None)

    def forward(self, start_ms: int, end_ms: int) -> Iterator[Trade]:
        """Yield the trades with start <= time < end, oldest first."""
        minute = max(start_ms, LISTED_MS) // MINUTE_MS
        while minute * MINUTE_MS < end_ms:
            for trade in self._tape(minute):
                if start_ms <= trade.time_ms < end_ms:
                    yield trade
            minute += 1

    def backward(self, end_ms: int) -> Iterator[Trade]:
        """Yield the trades before `end_ms`, newest first."""
        minute = (end_ms - 1) // MINUTE_MS
        while minute * MINUTE_MS >= LISTED_MS:
            for trade in reversed(self._tape(minute)):
                if trade.time_ms < end_ms:
                    yield trade
            minute -= 1

    def time_of_trade(self, identity: int) -> int:
        """Return the start of the minute that holds the trade."""
        return self._minute_of(identity, first_trade_of, lambda candle: candle.first_trade)

    def time_of_aggregate(self, identity: int) -> int:
        """Return the start of the minute that holds the aggregate trade."""
        return self._minute_of(identity, first_aggregate_of, lambda candle: candle.first_aggregate)

    def _minute_of(
        self, identity: int, first_of: Callable[[Symbol, int, int, Temper], int], first: Callable[[Candle], int]
    ) -> int:
        low, high = LISTED_MS // DAY_MS, LAST_DAY
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high)
                if first_of(self.symbol, middle, self._seed, self._temper) <= identity
                else (low, middle - 1)
            )
        candle = _holding(self._day_hours(low), identity, first)
        candle = _holding(self._hour_quarters(candle.start_ms // HOUR_MS), identity, first)
        return _holding(self._quarter_minutes(candle.start_ms // QUARTER_MS), identity, first).start_ms

    def _parts(self, start_ms: int, end_ms: int) -> Iterator[Candle]:
        at = start_ms
        while at < end_ms:
            if at % DAY_MS == 0 and at + DAY_MS <= end_ms:
                candle, at = self._day(at // DAY_MS), at + DAY_MS
            elif at % HOUR_MS == 0 and at + HOUR_MS <= end_ms:
                candle, at = self._day_hours(at // DAY_MS)[at // HOUR_MS % 24], at + HOUR_MS
            elif at % QUARTER_MS == 0 and at + QUARTER_MS <= end_ms:
                candle, at = self._hour_quarters(at // HOUR_MS)[at // QUARTER_MS % 4], at + QUARTER_MS
            elif at % MINUTE_MS == 0 and at + MINUTE_MS <= end_ms:
                candle, at = self._minute(at // MINUTE_MS), at + MINUTE_MS
            else:
                stop = min(end_ms, (at // MINUTE_MS + 1) * MINUTE_MS)
                seen = [trade for trade in self._tape(at // MINUTE_MS) if at <= trade.time_ms < stop]
                candle, at = fold(at, seen), stop
            if candle is not None:
                yield candle

    def _day(self, day: int) -> Candle | None:
        return self._days.get(day, lambda: merge(self._day_hours(day)))

    def _day_hours(self, day: int) -> tuple[Candle, ...]:
        return self._hours.get(day, lambda: hours_of(self.symbol, day, self._seed, self._prices, self._temper))

    def _hour_quarters(self, hour: int) -> tuple[Candle, ...]:
        return self._quarters.get(
            hour,
            lambda: refine(self._day_hours(hour // 24)[hour % 24], 4, 15, self._seed, self.symbol.name),
        )

    def _quarter_minutes(self, quarter: int) -> tuple[Candle, ...]:
        return self._minutes.get(
            quarter,
            lambda: refine(self._hour_quarters(quarter // 4)[quarter % 4], 15, 1, self._seed, self.symbol.name),
        )

    def _minute(self, minute: int) -> Candle:
        return self._quarter_minutes(minute // 15)[minute % 15]

    def _tape(self, minute: int) -> tuple[Trade, ...]:
        return self._tapes.get(minute, lambda: tape_of(self._minute(minute), self._seed, self.symbol.name))


def _holding(candles: tuple[Candle, ...], identity: int, first: Callable[[Candle], int]) -> Candle:
    return next((candle for candle in reversed(candles) if first(candle) <= identity), candles[0])
