"""Open interest of a contract: opened minus closed and liquidated lots, derived from the trades on its tape."""

from typing import NamedTuple

from mcp_binance_server.simulator.futures.liquidations import Liquidations
from mcp_binance_server.simulator.futures.tape import ContractTape
from mcp_binance_server.simulator.futures.waves import Wave
from mcp_binance_server.simulator.market.noise import Lru
from mcp_binance_server.simulator.market.prices import DAY_MS, HOUR_MS

REFERENCE_MS = 1_735_603_200_000  # the last day of 2024; the usual open interest is half of its volume
SHARES = (0.8, 0.18, 0.02)
SWING = 0.15
WILD_SWING = 0.0015  # small enough to be traded within a calm quarter of an hour
WILD_STILL_MS = 45 * 60_000  # time for which a wild level lasts before it moves to the next
HEALING_HOURS = 24  # liquidated positions are reopened within a day


class Flow(NamedTuple):
    """Parts of the change of open interest in a span, in lots: `opened` - `closed` - `liquidated`."""

    traded: int
    opened: int
    closed: int
    liquidated: int


class Interest:
    """Open interest of one contract in lots, at any time."""

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
            # A wild contract reopens liquidated lots at once, so that a level is independent of everything before it.
            first, last = self._level(hour), self._level(hour + 1)
            into_ms, span_ms = max(0, into_ms - WILD_STILL_MS), HOUR_MS - WILD_STILL_MS
            return first + (last - first) * into_ms // span_ms - planted
        lost = sum(each.lots for each in self._liquidations.natural(hour * HOUR_MS, at_ms))
        # Liquidations of the hour count at their own times, all other changes are spread evenly over it.
        first, last = self._level(hour), self._level(hour + 1) + self._liquidations.hour(hour).lots
        return first + (last - first) * into_ms // HOUR_MS - lost - planted

    def flow(self, start_ms: int, end_ms: int) -> Flow:
        """Return the changes of open interest with start <= time < end."""
        found = self._tape.window(start_ms, end_ms)
        traded = 0 if found is None else found.lots
        liquidated = sum(each.lots for each in self._liquidations.between(start_ms, end_ms))
        net = self.at(end_ms) - self.at(start_ms) + liquidated
        # Half of the remaining lots change hands; the other half is opened by some traders and closed by others.
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
