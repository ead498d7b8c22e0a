"""Premium of each contract over its index: it varies around a mean, within bounds, and changes every hour."""

from functools import lru_cache

from mcp_binance_server.simulator.futures.listing import BASIS_POINT, Contract
from mcp_binance_server.simulator.futures.waves import Wave
from mcp_binance_server.simulator.market.listing import UNIT
from mcp_binance_server.simulator.market.noise import draws
from mcp_binance_server.simulator.market.prices import DAY_MS, HOUR_MS

SHARES = (0.5, 0.3, 0.2)
LEAST, SPAN = 5 * BASIS_POINT, 16 * BASIS_POINT
WILD = 120 * BASIS_POINT  # bound of wild premiums
WILD_HOURS = 8
CARRY = 3 * UNIT // 100  # per year, for delivery contracts
DELIVERY_NOISE = 5 * BASIS_POINT
CALM_MS = 14 * DAY_MS


class Premiums:
    """Premiums in units of 0.00000001, each for a whole hour.

    A `wild` premium lasts for the longest funding interval and is independent of the one before. An estimate therefore
    varies as much as the settled rate, however early it is read.
    """

    def __init__(self, seed: int, *, wild: bool = False) -> None:
        self._seed = seed
        self._wild = wild
        self._waves: dict[str, Wave] = {}
        self._bounds: dict[str, int] = {}

    def at(self, contract: Contract, at_ms: int) -> int:
        """Return the premium of the hour that contains a time."""
        hour = at_ms // HOUR_MS
        height = self._wave(contract.name).at(hour - hour % WILD_HOURS if self._wild else hour)
        plan = contract.plan
        if plan is not None:
            return round(height * self.bound(contract)) + (0 if self._wild else plan.lean)
        left_ms = max(0, contract.delivery_ms - hour * HOUR_MS)
        return CARRY * left_ms // (365 * DAY_MS) + round(height * DELIVERY_NOISE * min(left_ms, CALM_MS) / CALM_MS)

    def hours(self, contract: Contract, first_hour: int, count: int) -> list[int]:
        """Return the premiums of consecutive hours."""
        return [self.at(contract, hour * HOUR_MS) for hour in range(first_hour, first_hour + count)]

    def bound(self, contract: Contract) -> int:
        """Return the largest distance of a perpetual's premium from its mean."""
        if self._wild:
            return WILD
        found = self._bounds.get(contract.name)
        if found is None:
            found = LEAST + draws(1, self._seed, "span of premium", contract.name)[0] % SPAN
            self._bounds[contract.name] = found
        return found

    def _wave(self, name: str) -> Wave:
        found = self._waves.get(name)
        if found is None:
            found = self._waves[name] = Wave(self._seed, f"premium {name}", SHARES, wild=self._wild)
        return found


@lru_cache(maxsize=16)
def premiums_of(seed: int, *, wild: bool) -> Premiums:
    """Return the premiums of a seed; all markets of the seed share the computed values."""
    return Premiums(seed, wild=wild)
