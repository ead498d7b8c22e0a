"""Trades and candles at any time. They are the same in every read."""

from collections.abc import Callable, Iterator

from binance_simulator.market.candles import Candle, Trade, fold, merge, refine
from binance_simulator.market.listing import Symbol
from binance_simulator.market.noise import ORDINARY, Lru, Temper, draws
from binance_simulator.market.prices import (
    DAY_MS,
    HOUR_MS,
    Prices,
    first_aggregate_of,
    first_trade_of,
    hours_of,
    ticks_at,
)

MINUTE_MS = 60_000
MANY = 32  # trades per side and minute; an ordinary minute has fewer

Lot = tuple[int, int, bool]  # price, lots, whether the buyer is the maker

QUARTER_MS = 15 * MINUTE_MS
LISTED_MS = 1_672_531_200_000  # 2023-01-01, before the first trade of every symbol
LAST_DAY = 73_000  # late 2169


def tape_of(minute: Candle, seed: int, name: str) -> tuple[Trade, ...]:
    """Return the trades of a minute in chronological order."""
    count, extra = minute.aggregates, minute.trades - minute.aggregates
    noise = draws(count * 4 + extra + 8, seed, "tape", name, minute.start_ms)
    lots = _lots(minute, noise[: count * 3 + 8])
    pieces = [1] * count
    for draw in noise[count * 3 + 8 : count * 3 + 8 + extra]:
        part = draw % count
        while lots[part][1] <= pieces[part]:
            part = (part + 1) % count
        pieces[part] += 1
    slot = MINUTE_MS // count
    trades: list[Trade] = []
    for part, (price, amount, maker) in enumerate(lots):
        time_ms = minute.start_ms + part * slot + noise[-1 - part] % slot
        each, rest = divmod(amount, pieces[part])
        for piece in range(pieces[part]):
            size = each + rest if piece == 0 else each
            identity = minute.first_trade + len(trades)
            trades.append(Trade(identity, minute.first_aggregate + part, price, size, time_ms, maker))
    return tuple(trades)


def _lots(minute: Candle, noise: tuple[int, ...]) -> list[Lot]:
    rising = minute.close >= minute.open
    # A rising minute goes from open to low, then to high, then to close.
    marks = [minute.open, *((minute.low, minute.high) if rising else (minute.high, minute.low)), minute.close]
    makers = [noise[0] % 2 == 0, rising, not rising, not rising]
    fixed: list[Lot] = []
    left = {True: minute.sell_lots, False: minute.buy_lots}
    value = {True: minute.sell_value, False: minute.buy_value}
    for mark, maker, draw in zip(marks, makers, noise[1:5], strict=True):
        size = 1 + draw % ((minute.sell_lots if maker else minute.buy_lots) // 40)
        fixed.append((mark, size, maker))
        left[maker] -= size
        value[maker] -= size * mark
    free = minute.aggregates - 4
    buys = min(free - 3, max(3, free * minute.buy_lots // minute.lots))
    inner = _side(minute, left[False], value[False], buys, noise[8:], maker=False)
    inner += _side(minute, left[True], value[True], free - buys, noise[8 + buys * 2 :], maker=True)
    return _in_order(fixed, inner, noise[-free:])


def _side(minute: Candle, lots: int, value: int, count: int, noise: tuple[int, ...], *, maker: bool) -> list[Lot]:
    # Two adjacent prices give any total exactly. Equal lots above and below one of them do not change the total.
    price, above = divmod(value, lots)
    centre, bulk = (price + 1, above) if above * 2 > lots else (price, lots - above)
    parts: list[Lot] = [] if bulk == lots else [(2 * price + 1 - centre, lots - bulk, maker)]
    reach = 1 + min(centre - minute.low, minute.high - centre)
    # With many trades, each trade has less than half of its side's volume.
    alike = count // 3 if count >= MANY else 1
    pairs = (count - len(parts) - alike) // 2
    most = max(1, bulk // (4 * pairs + 4))
    for pair in range(pairs):
        size = 1 + noise[2 * pair] % most
        distance = noise[2 * pair + 1] % reach
        parts += [(centre - distance, size, maker), (centre + distance, size, maker)]
        bulk -= 2 * size
    for left in range(count - len(parts), 0, -1):
        size = bulk // left
        parts.append((centre, size, maker))
        bulk -= size
    return parts


def _in_order(fixed: list[Lot], inner: list[Lot], noise: tuple[int, ...]) -> list[Lot]:
    legs: list[list[Lot]] = [[], [], []]
    for lot, draw in zip(inner, noise, strict=True):
        fitting = [
            leg
            for leg in range(3)
            if min(fixed[leg][0], fixed[leg + 1][0]) <= lot[0] <= max(fixed[leg][0], fixed[leg + 1][0])
        ]
        legs[fitting[draw % len(fitting)]].append(lot)
    ordered: list[Lot] = []
    for leg, lots in enumerate(legs):
        ordered.append(fixed[leg])
        ordered += sorted(lots, reverse=fixed[leg][0] > fixed[leg + 1][0])
    return [*ordered, fixed[3]]


class History:
    """Trades of one symbol from its listing to `ended_ms`. The caller's time limits what is visible."""

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
        """Return the time before which all trades are visible at `now_ms`."""
        return now_ms + 1 if self.ended_ms is None else min(now_ms + 1, self.ended_ms)

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Return one candle for the trades with start <= time < end, or None if there are none."""
        return self._windows.get((start_ms, end_ms), lambda: merge(self._parts(max(start_ms, LISTED_MS), end_ms)))

    def last(self, end_ms: int) -> Trade | None:
        """Return the newest trade before `end_ms`."""
        return next(self.backward(end_ms), None)

    def price_at(self, hour: int) -> int:
        """Return the price of the last trade before a full hour, in ticks. No search is needed."""
        return ticks_at(self.symbol, self._prices.mark(self.symbol.base, self.symbol.quote, hour))

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
        """Return the start of the minute that contains the trade."""
        return self._minute_of(identity, first_trade_of, lambda candle: candle.first_trade)

    def time_of_aggregate(self, identity: int) -> int:
        """Return the start of the minute that contains the aggregate trade."""
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
