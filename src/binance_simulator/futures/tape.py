"""Candles of a contract: those of its spot market, scaled by the premium of each hour."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from binance_simulator.futures.listing import Contract
from binance_simulator.futures.premium import Premiums
from binance_simulator.market.candles import Candle, merge
from binance_simulator.market.listing import UNIT
from binance_simulator.market.noise import Lru
from binance_simulator.market.prices import HOUR_MS
from binance_simulator.market.source import Chronicle


@dataclass(frozen=True, slots=True)
class Scale:
    """Conversion in one hour from ticks of the spot market to ticks of a contract."""

    above: int
    below: int
    premium: int

    def price(self, ticks: int) -> int:
        """Return a price in ticks of the contract, rounded half up."""
        return (2 * ticks * self.above + self.below) // (2 * self.below)

    def bid(self, ticks: int) -> int:
        """Return a price in ticks of the contract, rounded down."""
        return ticks * self.above // self.below

    def ask(self, ticks: int) -> int:
        """Return a price in ticks of the contract, rounded up."""
        return -(-ticks * self.above // self.below)

    def candle(self, candle: Candle) -> Candle:
        """Return the contract's candle for a spot candle.

        Lots stay the same. Values are multiplied by 1 plus the premium, in units of 0.00000001.
        """
        opened, high, low, close = candle[1:5]
        half, twice, below, whole = self.below, 2 * self.above, 2 * self.below, UNIT + self.premium
        return Candle(
            candle[0],
            (opened * twice + half) // below,
            (high * twice + half) // below,
            (low * twice + half) // below,
            (close * twice + half) // below,
            candle[5],
            candle[6] * whole,
            candle[7],
            candle[8] * whole,
            *candle[9:],
        )


def scale_of(contract: Contract, premium: int) -> Scale:
    """Return the scale of an hour with this premium."""
    return Scale(
        contract.spot.tick * contract.multiplier * (UNIT + premium),
        UNIT * contract.tick,
        premium,
    )


class ContractTape:
    """Trades of one contract, derived from the tape of its spot market."""

    def __init__(self, contract: Contract, spot: Chronicle, premiums: Premiums) -> None:
        self.contract = contract
        self.spot = spot
        self._premiums = premiums
        self._days: Lru[int, Candle | None] = Lru(1_000)
        self._spans: Lru[tuple[int, int], Candle | None] = Lru(100)
        self._whole_hours: Lru[int, Candle | None] = Lru(800)

    def scale(self, at_ms: int) -> Scale:
        """Return the scale of the hour that contains a time."""
        return scale_of(self.contract, self._premiums.at(self.contract, at_ms))

    def window(self, start_ms: int, end_ms: int) -> Candle | None:
        """Return one candle for the trades with start <= time < end, or None if there are none."""
        return merge(self._parts(start_ms, end_ms))

    def _parts(self, start_ms: int, end_ms: int) -> Iterator[Candle]:
        first, last = -(-start_ms // HOUR_MS), end_ms // HOUR_MS
        if first >= last:
            yield from self._within(start_ms, end_ms)
            return
        yield from self._within(start_ms, first * HOUR_MS)
        if whole := self._spans.get((first, last), lambda: merge(self._hours(first, last))):
            yield whole
        yield from self._within(last * HOUR_MS, end_ms)

    def _hours(self, first: int, last: int) -> Iterator[Candle]:
        hour = first
        while hour < last:
            if hour % 24 == 0 and hour + 24 <= last:
                day = hour // 24
                found = self._days.get(day, lambda day=day: merge(self._each_hour(day * 24, day * 24 + 24)))
                if found is not None:
                    yield found
                hour += 24
            else:
                yield from self._each_hour(hour, hour + 1)
                hour += 1

    def _each_hour(self, first: int, last: int) -> Iterator[Candle]:
        for hour in range(first, last):
            yield from self._within(hour * HOUR_MS, (hour + 1) * HOUR_MS)

    def _within(self, start_ms: int, end_ms: int) -> Iterator[Candle]:
        """Yield candles for the trades of a span, split at full hours, because the premium changes there."""
        while start_ms < end_ms:
            stop_ms = min(end_ms, (start_ms // HOUR_MS + 1) * HOUR_MS)
            whole = stop_ms - start_ms == HOUR_MS
            found = self._hour(start_ms // HOUR_MS) if whole else self._part(start_ms, stop_ms)
            if found is not None:
                yield found
            start_ms = stop_ms

    def _hour(self, hour: int) -> Candle | None:
        return self._whole_hours.get(hour, lambda: self._part(hour * HOUR_MS, (hour + 1) * HOUR_MS))

    def _part(self, start_ms: int, stop_ms: int) -> Candle | None:
        found = self.spot.window(start_ms, stop_ms)
        return None if found is None else self.scale(start_ms).candle(found)


@lru_cache(maxsize=64)
def tape_of(contract: Contract, spot: Chronicle, premiums: Premiums) -> ContractTape:
    """Return the tape of a contract. The computed values are shared by all markets with this contract."""
    return ContractTape(contract, spot, premiums)
