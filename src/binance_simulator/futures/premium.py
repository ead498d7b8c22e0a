"""Premium of each contract over its index. It changes every hour and varies around a mean, within bounds."""

from functools import lru_cache

from binance_simulator.futures.listing import BASIS_POINT, Contract
from binance_simulator.futures.waves import Wave
from binance_simulator.market.listing import UNIT
from binance_simulator.market.noise import draws
from binance_simulator.market.prices import DAY_MS, HOUR_MS

SHARES = (0.5, 0.3, 0.2)
LEAST, SPAN = 5 * BASIS_POINT, 16 * BASIS_POINT
WILD = 120 * BASIS_POINT  # largest wild premium
WILD_HOURS = 8
CARRY = 3 * UNIT // 100  # per year, for delivery contracts
DELIVERY_NOISE = 5 * BASIS_POINT
CALM_MS = 14 * DAY_MS


class Premiums:
    """Hourly premiums in units of 0.00000001.

    A `wild` premium lasts for the longest funding interval and does not depend on the previous one. Therefore an early
    estimate of the rate varies as much as the settled rate.
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
        """Return the maximum distance of a perpetual's premium from its mean."""
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
    """Return the premiums of a seed. The computed values are shared by all markets with this seed."""
    return Premiums(seed, wild=wild)
