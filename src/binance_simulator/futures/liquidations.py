"""Liquidations: bursts of forced orders in minutes with large price moves, and the subset in the stream."""

from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from binance_simulator.futures.listing import Contract
from binance_simulator.futures.tape import ContractTape
from binance_simulator.market.candles import Candle
from binance_simulator.market.noise import Lru, draws, shares
from binance_simulator.market.prices import HOUR_MS

SECOND_MS = 1_000
MINUTE_MS = 60_000
CALM = 125  # no liquidations in an hour that moves less than 1/125 from its opening price
MOST_OF_HOUR = 10  # at most a tenth of an hour's volume
MOST_ORDERS = 12  # per side and minute
BURST_MS = 4_000


@dataclass(frozen=True, slots=True)
class ForcedOrder:
    """One liquidation.

    A long position is sold, and a short position is bought back. Prices are in ticks of the contract.
    """

    contract: Contract
    time_ms: int
    sells: bool
    lots: int
    price: int
    average: int


class Forced(NamedTuple):
    """Liquidated lots of an hour."""

    longs: int
    shorts: int

    @property
    def lots(self) -> int:
        return self.longs + self.shorts


class Liquidations:
    """All liquidations of one contract. `planted` ones were added manually."""

    def __init__(self, tape: ContractTape, seed: int) -> None:
        self.contract = tape.contract
        self.planted: list[ForcedOrder] = []
        self._tape = tape
        self._seed = seed
        self._hours: Lru[int, Forced] = Lru(2_000)
        self._orders: Lru[int, tuple[ForcedOrder, ...]] = Lru(100)

    def hour(self, hour: int) -> Forced:
        """Return the liquidated lots of an hour, without the planted ones."""
        return self._hours.get(hour, lambda: self._forced(hour))

    def between(self, start_ms: int, end_ms: int) -> list[ForcedOrder]:
        """Return the liquidations with start <= time < end, oldest first."""
        planted = [each for each in self.planted if start_ms <= each.time_ms < end_ms]
        found = self.natural(start_ms, end_ms)
        return sorted(found + planted, key=_time) if planted else found

    def natural(self, start_ms: int, end_ms: int) -> list[ForcedOrder]:
        """Return the liquidations caused by the market, without the planted ones."""
        found: list[ForcedOrder] = []
        for hour in range(start_ms // HOUR_MS, -(-end_ms // HOUR_MS)):
            if self.hour(hour).lots:
                orders = self._orders.get(hour, partial(self._drawn, hour))
                first, last = (bisect_left(orders, at_ms, key=_time) for at_ms in (start_ms, end_ms))
                found += orders[first:last]
        return found

    def _forced(self, hour: int) -> Forced:
        candle = self._tape.window(hour * HOUR_MS, (hour + 1) * HOUR_MS)
        if candle is None:
            return Forced(0, 0)
        most = candle.lots // MOST_OF_HOUR
        fall, rise = candle.open - candle.low, candle.high - candle.open
        return Forced(_excess(fall, candle.open, most), _excess(rise, candle.open, most))

    def _drawn(self, hour: int) -> tuple[ForcedOrder, ...]:
        forced = self.hour(hour)
        starts = range(hour * HOUR_MS, (hour + 1) * HOUR_MS, MINUTE_MS)
        minutes = [found for start in starts if (found := self._tape.window(start, start + MINUTE_MS)) is not None]
        orders = self._side(minutes, forced.longs, sells=True) + self._side(minutes, forced.shorts, sells=False)
        return tuple(sorted(orders, key=_time))

    def _side(self, minutes: list[Candle], lots: int, *, sells: bool) -> list[ForcedOrder]:
        if not lots:
            return []
        moves = [each.open - each.low if sells else each.high - each.open for each in minutes]
        usual = 3 * sum(moves) // (2 * len(moves))
        struck = [(minute, (move - usual) ** 2) for minute, move in zip(minutes, moves, strict=True) if move > usual]
        struck = struck or [(minutes[moves.index(max(moves))], 1)]
        parts = shares(lots, [weight for _, weight in struck], 0)
        return [
            order
            for (minute, _), part in zip(struck, parts, strict=True)
            if part
            for order in self._burst(minute, part, sells=sells)
        ]

    def _burst(self, minute: Candle, lots: int, *, sells: bool) -> list[ForcedOrder]:
        side = "longs" if sells else "shorts"
        count, begin, *noise = draws(2 + 3 * MOST_ORDERS, self._seed, side, self.contract.name, minute.start_ms)
        orders = min(lots, 1 + count % MOST_ORDERS)
        sizes = shares(lots, [100 + draw % 900 for draw in noise[:orders]], 1)
        edge, away = (minute.low, minute.open - minute.low) if sells else (minute.high, minute.open - minute.high)
        first_ms = minute.start_ms + begin % (MINUTE_MS - BURST_MS)
        return [
            ForcedOrder(
                self.contract,
                first_ms + when % BURST_MS,
                sells=sells,
                lots=size,
                price=edge - edge // 500 if sells else edge + edge // 500,
                average=edge + away * (where % 500) // 1_000,
            )
            for size, when, where in zip(sizes, noise[MOST_ORDERS:], noise[2 * MOST_ORDERS :], strict=False)
        ]


def _time(order: ForcedOrder) -> int:
    return order.time_ms


def _excess(move: int, opened: int, most: int) -> int:
    over = move * CALM - opened
    # The maximum is reached by an hour that moves three times as far as a calm one.
    return max(0, min(most, most * over // (2 * opened)))


def told(orders: list[ForcedOrder]) -> list[ForcedOrder]:
    """Return the orders of one second that the stream shows: only the newest of each contract."""
    newest = {order.contract.name: order for order in orders}
    return list(newest.values())
