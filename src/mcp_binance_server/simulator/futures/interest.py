"""Open interest: what was opened less what was closed and liquidated, out of what the contract's tape traded."""

from typing import NamedTuple

from mcp_binance_server.simulator.futures.liquidations import Liquidations
from mcp_binance_server.simulator.futures.tape import ContractTape
from mcp_binance_server.simulator.futures.waves import Wave
from mcp_binance_server.simulator.market.noise import Lru
from mcp_binance_server.simulator.market.prices import DAY_MS, HOUR_MS

REFERENCE_MS = 1_735_603_200_000  # the last day of 2024: what it traded is what is usually open, twice
SHARES = (0.8, 0.18, 0.02)
SWING = 0.15
WILD_SWING = 0.0015  # small enough that a calm quarter of an hour can trade it
WILD_STILL_MS = 45 * 60_000  # so long a wild level stands before it goes to the next
HEALING_HOURS = 24  # what was liquidated is opened anew within a day


class Flow(NamedTuple):
    """What happened to the open interest in a span, in lots: `opened` - `closed` - `liquidated` is its change."""

    traded: int
    opened: int
    closed: int
    liquidated: int


class Interest:
    """The open interest of one contract in lots, at any moment."""

    def __init__(self, tape: ContractTape, liquidations: Liquidations, seed: int, *, wild: bool) -> None:
        self._tape = tape
        self._liquidations = liquidations
        self._wild = wild
        self._wave = Wave(seed, f"interest {tape.contract.name}", SHARES, wild=wild)
        self._levels: Lru[int, int] = Lru(2_000)
        usual = tape.window(REFERENCE_MS, REFERENCE_MS + DAY_MS)
        self._home = 0 if usual is None else usual.lots // 2

    def at(self, at_ms: int) -> int:
        """Return how many lots are open."""
        hour, into_ms = divmod(at_ms, HOUR_MS)
        planted = sum(each.lots for each in self._liquidations.planted if each.time_ms < at_ms)
        if not into_ms:
            return self._level(hour) - planted
        if self._wild:
            # What is liquidated is opened anew at once, so that a level follows from nothing.
            first, last = self._level(hour), self._level(hour + 1)
            into_ms, span_ms = max(0, into_ms - WILD_STILL_MS), HOUR_MS - WILD_STILL_MS
            return first + (last - first) * into_ms // span_ms - planted
        lost = sum(each.lots for each in self._liquidations.natural(hour * HOUR_MS, at_ms))
        # The hour's own liquidations happen when they happen, everything else evenly.
        first, last = self._level(hour), self._level(hour + 1) + self._liquidations.hour(hour).lots
        return first + (last - first) * into_ms // HOUR_MS - lost - planted

    def flow(self, start_ms: int, end_ms: int) -> Flow:
        """Return what the contract's tape did to the open interest with start <= time < end."""
        found = self._tape.window(start_ms, end_ms)
        traded = 0 if found is None else found.lots
        liquidated = sum(each.lots for each in self._liquidations.between(start_ms, end_ms))
        net = self.at(end_ms) - self.at(start_ms) + liquidated
        # Of the rest, half goes from hand to hand; the other half is opened by some and closed by others.
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
