"""Long shares of accounts and positions. They follow slow waves and the taker volume of the previous hour."""

from collections.abc import Mapping
from typing import Literal

from binance_simulator.futures.tape import ContractTape
from binance_simulator.futures.waves import Wave
from binance_simulator.market.noise import draws
from binance_simulator.market.prices import HOUR_MS

RatioKind = Literal["accounts", "top_accounts", "top_positions"]

SHARES = (0.5, 0.3, 0.2)
LEAST, SPAN = 4_600, 1_500  # in units of 0.0001
MOOD = 700
# Influence of the taker volume on each ratio.
FOLLOWING: Mapping[RatioKind, float] = {"accounts": 0.15, "top_accounts": 0.1, "top_positions": 0.05}


class Ratios:
    """The long shares of one contract, in units of 0.0001. With `wild` they do not depend on the taker volume."""

    def __init__(self, tape: ContractTape, seed: int, *, wild: bool) -> None:
        self._tape = tape
        self._wild = wild
        names: dict[RatioKind, str] = {kind: f"{kind} {tape.contract.name}" for kind in FOLLOWING}
        self._waves = {kind: Wave(seed, name, SHARES, wild=wild) for kind, name in names.items()}
        self._homes = {kind: LEAST + draws(1, seed, "home", name)[0] % SPAN for kind, name in names.items()}

    def long_share(self, kind: RatioKind, at_ms: int) -> int:
        """Return the long share at the end of a period."""
        mood = self._homes[kind] + round(MOOD * self._waves[kind].at(at_ms // HOUR_MS))
        if self._wild:
            return mood
        hour = self._tape.window(at_ms - HOUR_MS, at_ms)
        lean = 0.0 if hour is None else hour.buy_lots / hour.lots - 0.5
        return mood + round(10_000 * FOLLOWING[kind] * lean)
