"""Prices: random walks between fixed knots, and the hourly candles from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from binance_simulator.market.candles import LEAST_AGGREGATES, LEAST_LOTS, Candle
from binance_simulator.market.listing import UNIT, Symbol
from binance_simulator.market.noise import FULL, Lru, Temper, draws, shares, signed_unit

KNOT_DAYS = 128
UNIFORM = math.sqrt(3)  # factor that gives uniform numbers from [-1, 1) a standard deviation of 1

LEADER = "BTC"
FOLLOWING = 0.71
WICK = 0.16  # share of an asset's daily volatility; with it an hour has the same range as a random walk

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
LEAST_LOTS_A_DAY = 4_000_000
USD_A_DAY = 40_000_000.0


class Walks:
    """Random walks by name. The same name always gives the same walk."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._hours: Lru[tuple[str, int], tuple[float, ...]] = Lru(20_000)
        self._spans: Lru[tuple[str, int], tuple[float, ...]] = Lru(2_000)

    def hours(self, name: str, day: int) -> tuple[float, ...]:
        """Return the heights at the 25 full hours of a day, from midnight to midnight."""
        return self._hours.get((name, day), lambda: self._draw_hours(name, day))

    def midnight(self, name: str, day: int) -> float:
        """Return the height at the start of a day."""
        span, rest = divmod(day, KNOT_DAYS)
        return self._spans.get((name, span), lambda: self._draw_span(name, span))[rest]

    def _draw_hours(self, name: str, day: int) -> tuple[float, ...]:
        noise = draws(24, self._seed, "walk", name, day)
        return bridge(self.midnight(name, day), self.midnight(name, day + 1), noise, 1 / math.sqrt(24))

    def _draw_span(self, name: str, span: int) -> tuple[float, ...]:
        noise = draws(KNOT_DAYS, self._seed, "span", name, span)
        return bridge(self._knot(name, span), self._knot(name, span + 1), noise, 1)

    def _knot(self, name: str, span: int) -> float:
        # Two knots differ as much as the ends of a free walk, but no knot moves far from the mean.
        return math.sqrt(KNOT_DAYS / 2) * UNIFORM * signed_unit(draws(1, self._seed, "knot", name, span)[0])


def bridge(first: float, last: float, noise: tuple[int, ...], step: float) -> tuple[float, ...]:
    """Return a random walk from `first` to `last`. Consecutive walks therefore join without a jump."""
    free = list(accumulate((step * UNIFORM * signed_unit(draw) for draw in noise), initial=first))
    pull = (last - free[-1]) / len(noise)
    return tuple(height + pull * place for place, height in enumerate(free))


class Level(NamedTuple):
    """Dollar value of an asset on the reference day, and its volatility.

    `yearly` is the standard deviation of a year's logarithmic returns. `following` is their correlation with Bitcoin's
    returns, hourly and daily.
    """

    usd: float
    yearly: float
    following: float = 0.0

    @property
    def daily(self) -> float:
        return self.yearly / math.sqrt(365)


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """Dollar values of an asset at the full hours up to `end_hour`. The value is constant afterwards.

    Before the last day, an hour's range extends beyond its open and close in proportion to `restless`. Courses are
    compared by identity, because comparing thousands of prices would slow down each cache lookup.
    """

    end_hour: int
    usd: tuple[float, ...] = field(repr=False)
    restless: float = 0.0

    @property
    def first_hour(self) -> int:
        return self.end_hour - len(self.usd) + 1

    def at(self, hour: int) -> float:
        """Return the value at an hour. The hour must not be before the first one."""
        return self.usd[min(hour - self.first_hour, len(self.usd) - 1)]


def _coin(usd: float, yearly: float) -> Level:
    return Level(usd, yearly, FOLLOWING)


LEVELS: Mapping[str, Level] = {
    "BTC": Level(118_204, 0.49, 1.0),
    "ETH": _coin(3_665, 0.69),
    "BNB": _coin(742, 0.58),
    "SOL": _coin(178, 0.86),
    "XRP": _coin(2.94, 0.88),
    "DOGE": _coin(0.231, 0.98),
    "SHIB": _coin(0.0000133, 0.96),
    "PEPE": _coin(0.0000118, 1.18),
    "1000SATS": _coin(0.0000412, 1.15),
    "1INCH": _coin(0.262, 0.98),
    "W": _coin(0.081, 1.1),
    "ADA": _coin(0.83, 0.92),
    "LTC": _coin(104, 0.87),
    "TRX": _coin(0.318, 0.85),
    "LINK": _coin(17.9, 0.94),
    "AVAX": _coin(24.3, 0.98),
    "DOT": _coin(4.15, 0.92),
    "XLM": _coin(0.412, 0.95),
    "ATOM": _coin(4.71, 0.9),
    "PAXG": Level(3_402, 0.16),
    "币安人生": _coin(0.127, 1.22),
    "LUNA": _coin(0.412, 1.0),
    "MATIC": _coin(0.384, 0.95),
    "TESTA": _coin(12.5, 0.9),
    "TESTB": _coin(3.2, 0.9),
    "TSLA": Level(338, 0.58, 0.4),
    "NVDA": Level(171, 0.44, 0.4),
    "USDT": Level(1, 0),
    "USDC": Level(0.9998, 0.002),
    "FDUSD": Level(0.9991, 0.002),
    "BUSD": Level(1.0003, 0.002),
    "TUSD": Level(0.9985, 0.004),
    "EUR": Level(1.164, 0.07),
    "TRY": Level(0.0246, 0.09),
    "BRL": Level(0.179, 0.14),
}


# All additional symbols have the same value and stay close to it.
CROWD = Level(2.5, 0.004)


def in_crowd(asset: str) -> bool:
    """Return whether an asset belongs to the additional symbols."""
    return asset not in LEVELS


def level_of(asset: str) -> Level:
    """Return the level of an asset. Unknown assets have the level of the additional symbols."""
    return LEVELS.get(asset, CROWD)


class Prices:
    """Hourly prices of every asset, in logarithms of dollars.

    An asset with a course follows it. Before the first hour of the course, its price is a random walk.
    """

    def __init__(
        self,
        seed: int,
        reference_day: int,
        courses: Mapping[str, Course] | None = None,
    ) -> None:
        self._reference_hour = reference_day * 24
        self._courses = courses or {}
        self._walks = Walks(seed)
        self._hours: Lru[tuple[str, int], tuple[float, ...]] = Lru(20_000)
        self._starts: dict[str, float] = {}

    def marks(self, base: str, quote: str, day: int) -> list[float]:
        """Return the price of base in quote at the 25 full hours of a day, from midnight to midnight."""
        return [
            math.exp(one - other) for one, other in zip(self._asset(base, day), self._asset(quote, day), strict=True)
        ]

    def mark(self, base: str, quote: str, hour: int) -> float:
        """Return the price of base in quote at one full hour."""
        day, place = divmod(hour, 24)
        return math.exp(self._asset(base, day)[place] - self._asset(quote, day)[place])

    def wicks(self, base: str, quote: str, day: int) -> list[float]:
        """Return the longest wick of each hour beyond its open and close, as a share of the price."""
        return [WICK * max(pair) for pair in zip(self._restless(base, day), self._restless(quote, day), strict=True)]

    def _restless(self, asset: str, day: int) -> list[float]:
        usual, course = level_of(asset).daily, self._courses.get(asset)
        if course is None:
            return [usual] * 24
        return [
            usual if hour < course.first_hour else course.restless if hour < course.end_hour - 24 else 0.0
            for hour in range(day * 24, day * 24 + 24)
        ]

    def _asset(self, asset: str, day: int) -> tuple[float, ...]:
        return self._hours.get((asset, day), lambda: self._draw(asset, day))

    def _draw(self, asset: str, day: int) -> tuple[float, ...]:
        level, course = level_of(asset), self._courses.get(asset)
        if not level.yearly:
            return (math.log(level.usd),) * 25
        start = self._start(asset)
        walked = tuple(start + height for height in self._heights(asset, day))
        if course is None or (day + 1) * 24 < course.first_hour:
            return walked
        return tuple(
            height if hour < course.first_hour else math.log(course.at(hour))
            for hour, height in enumerate(walked, start=day * 24)
        )

    def _start(self, asset: str) -> float:
        if asset not in self._starts:
            course = self._courses.get(asset)
            hour, usd = (
                (self._reference_hour, level_of(asset).usd) if course is None else (course.first_hour, course.usd[0])
            )
            self._starts[asset] = math.log(usd) - self._heights(asset, hour // 24)[hour % 24]
        return self._starts[asset]

    def _heights(self, asset: str, day: int) -> list[float]:
        level = level_of(asset)
        together, alone = level.daily * level.following, level.daily * math.sqrt(1 - level.following**2)
        shared, own = self._walks.hours(LEADER, day), self._walks.hours(asset, day)
        return [together * one + alone * other for one, other in zip(shared, own, strict=True)]


def ticks_at(symbol: Symbol, price: float) -> int:
    """Return a price in ticks, within the symbol's limits."""
    return min(symbol.highest_tick, max(symbol.lowest_tick, round(price * UNIT / symbol.tick)))


def hours_of(symbol: Symbol, day: int, seed: int, prices: Prices, temper: Temper) -> tuple[Candle, ...]:
    """Return the 24 random candles of a day. IDs and volumes depend only on the day."""
    marks = [ticks_at(symbol, mark) for mark in prices.marks(symbol.base, symbol.quote, day)]
    noise = draws(24 * 8 + 2, seed, "hours", symbol.name, day)
    lots = _lots_of_day(symbol, noise[-1], temper)
    taken = lots * (temper.least_bought + noise[-2] % temper.bought_span) // 100
    bought = shares(taken, [100 + draw % 300 for draw in noise[0:24]], LEAST_LOTS * 60)
    sold = shares(lots - taken, [100 + draw % 300 for draw in noise[24:48]], LEAST_LOTS * 60)
    first_aggregate, aggregates = _ids(seed, symbol.name, "aggregates", day, temper.aggregates_a_day)
    first_extra, extra = _ids(seed, symbol.name, "extra", day, temper.extra_trades_a_day)
    grouped = shares(aggregates, [70 + draw % 60 for draw in noise[48:72]], LEAST_AGGREGATES * 60)
    further = shares(extra, [70 + draw % 60 for draw in noise[72:96]], 0)
    reaches = [1 + round(wick * marks[0]) for wick in prices.wicks(symbol.base, symbol.quote, day)]
    candles: list[Candle] = []
    first_trade = first_aggregate + first_extra
    for hour in range(24):
        opened, closed = marks[hour], marks[hour + 1]
        up, down, average_draw, side_draw = noise[96 + hour * 4 : 100 + hour * 4]
        high = min(symbol.highest_tick, max(opened, closed) + up % reaches[hour])
        low = max(symbol.lowest_tick, min(opened, closed) - down % reaches[hour])
        # Buyers pay slightly more or less than sellers get. A larger difference would need long wicks.
        average, apart = _average(opened, high, low, closed, average_draw), side_draw // 50 - FULL // 100
        candles.append(
            Candle(
                day * DAY_MS + hour * HOUR_MS,
                opened,
                high,
                low,
                closed,
                bought[hour],
                _value(bought[hour], low, high, average + apart),
                sold[hour],
                _value(sold[hour], low, high, average - apart),
                grouped[hour],
                grouped[hour] + further[hour],
                first_aggregate,
                first_trade,
            )
        )
        first_aggregate += grouped[hour]
        first_trade += grouped[hour] + further[hour]
    return tuple(candles)


def first_trade_of(symbol: Symbol, day: int, seed: int, temper: Temper) -> int:
    """Return the ID of the first trade of a day."""
    return sum(
        _ids(seed, symbol.name, kind, day, usual)[0]
        for kind, usual in (("aggregates", temper.aggregates_a_day), ("extra", temper.extra_trades_a_day))
    )


def first_aggregate_of(symbol: Symbol, day: int, seed: int, temper: Temper) -> int:
    """Return the ID of the first aggregate trade of a day."""
    return _ids(seed, symbol.name, "aggregates", day, temper.aggregates_a_day)[0]


def _ids(seed: int, name: str, kind: str, day: int, usual: int) -> tuple[int, int]:
    # The first ID of a day is computed directly, in O(1). IDs have no gaps, because a day ends at the next day's first
    # ID.
    first, following = (usual * at + draws(1, seed, kind, name, at)[0] % (usual // 8) for at in (day, day + 1))
    return first, following - first


def _lots_of_day(symbol: Symbol, draw: int, temper: Temper) -> int:
    usd = level_of(symbol.base).usd
    weight = 20.0 if symbol.base in {"BTC", "ETH"} and symbol.quote == "USDT" else 1.0
    usual = USD_A_DAY * weight / usd * UNIT / symbol.lot
    usual = usual * temper.volume_percent / 100
    return max(LEAST_LOTS_A_DAY, 100 * temper.aggregates_a_day, round(usual)) * (60 + draw % 90) // 100


def _value(lots: int, low: int, high: int, share: int) -> int:
    return low * lots + (high - low) * lots * share // FULL


def _average(opened: int, high: int, low: int, closed: int, draw: int) -> int:
    # Average price of the trades as a share of the range. It is most often between open and close.
    middle = FULL * (opened + closed - 2 * low) // (2 * (high - low)) if high > low else FULL // 2
    return FULL // 4 + (3 * middle + 2 * draw) // 10
