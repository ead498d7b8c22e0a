"""Open interest of a contract, derived from its trades: opened minus closed and liquidated lots."""

from typing import NamedTuple

from binance_simulator.futures.liquidations import Liquidations
from binance_simulator.futures.tape import ContractTape
from binance_simulator.futures.waves import Wave
from binance_simulator.market.noise import Lru
from binance_simulator.market.prices import DAY_MS, HOUR_MS

REFERENCE_MS = 1_735_603_200_000  # last day of 2024; half of its volume is the average open interest
SHARES = (0.8, 0.18, 0.02)
SWING = 0.15
WILD_SWING = 0.0015  # small enough to be traded in a calm quarter of an hour
WILD_STILL_MS = 45 * 60_000  # a wild level stays for this long before it moves to the next
HEALING_HOURS = 24  # liquidated positions are reopened within this time


class Flow(NamedTuple):
    """Trades of a time span by their effect on open interest, in lots.

    The change is `opened` - `closed` - `liquidated`.
    """

    traded: int
    opened: int
    closed: int
    liquidated: int


class Interest:
    """Open interest of one contract in lots."""

    def __init__(self, tape: ContractTape, liquidations: Liquidations, seed: int, *, wild: bool) -> None:
        self._tape = tape
        self._liquidations = liquidations
        self._wild = wild
        self._wave = Wave(seed, f"interest {tape.contract.name}", SHARES, wild=wild)
        self._levels: Lru[int, int] = Lru(2_000)
        usual = tape.window(REFERENCE_MS, REFERENCE_MS + DAY_MS)
        self._home = 0 if usual is None else usual.lots // 2

    def at(self, at_ms: int) -> int:
        """Return the open interest in lots at a time."""
        hour, into_ms = divmod(at_ms, HOUR_MS)
        planted = sum(each.lots for each in self._liquidations.planted if each.time_ms < at_ms)
        if not into_ms:
            return self._level(hour) - planted
        if self._wild:
            # A wild contract reopens liquidated lots immediately, so that a level does not depend on earlier ones.
            first, last = self._level(hour), self._level(hour + 1)
            into_ms, span_ms = max(0, into_ms - WILD_STILL_MS), HOUR_MS - WILD_STILL_MS
            return first + (last - first) * into_ms // span_ms - planted
        lost = sum(each.lots for each in self._liquidations.natural(hour * HOUR_MS, at_ms))
        # Liquidations count at their own times. All other changes are spread evenly over the hour.
        first, last = self._level(hour), self._level(hour + 1) + self._liquidations.hour(hour).lots
        return first + (last - first) * into_ms // HOUR_MS - lost - planted

    def flow(self, start_ms: int, end_ms: int) -> Flow:
        """Return the changes of open interest with start <= time < end."""
        found = self._tape.window(start_ms, end_ms)
        traded = 0 if found is None else found.lots
        liquidated = sum(each.lots for each in self._liquidations.between(start_ms, end_ms))
        net = self.at(end_ms) - self.at(start_ms) + liquidated
        # Half of the remaining lots only change hands. The other half is opened by one trader and closed by another.
        churned = max(0, traded - abs(net)) // 4
        return Flow(traded, churned + max(0, net), churned + max(0, -net), liquidated)

    def _level(self, hour: int) -> int:
        return self._levels.get(hour, lambda: self._drawn(hour))

    def _drawn(self, hour: int) -> int:
        height = self._wave.at(hour)
        if self._wild:
            return self._home + round(self._home * WILD_SWING * height)
        hurt = sum(
            self._liquidations.hour(hour - back).lots * (HEALING_HOURS + 1 - back) // HEALING_HOURS
            for back in range(1, HEALING_HOURS + 1)
        )
        return self._home + round(self._home * SWING * height) - hurt
