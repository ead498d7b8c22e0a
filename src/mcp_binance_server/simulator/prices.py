"""Where the price of each asset stands at every full hour, so that all its markets agree with each other."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from mcp_binance_server.simulator.lru import Lru
from mcp_binance_server.simulator.noise import draws, signed_unit

PERIODS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # days; the longer, the larger the swing


class Level(NamedTuple):
    """The value of an asset in dollars on the reference day, and how much it moves in a day."""

    usd: float
    volatility: float


LEVELS: Mapping[str, Level] = {
    "BTC": Level(118_204, 0.018),
    "ETH": Level(3_665, 0.022),
    "BNB": Level(742, 0.018),
    "SOL": Level(178, 0.026),
    "XRP": Level(2.94, 0.026),
    "DOGE": Level(0.231, 0.03),
    "SHIB": Level(0.0000133, 0.03),
    "PEPE": Level(0.0000118, 0.035),
    "1000SATS": Level(0.0000412, 0.035),
    "1INCH": Level(0.262, 0.03),
    "W": Level(0.081, 0.032),
    "ADA": Level(0.83, 0.026),
    "LTC": Level(104, 0.024),
    "TRX": Level(0.318, 0.016),
    "LINK": Level(17.9, 0.027),
    "AVAX": Level(24.3, 0.028),
    "DOT": Level(4.15, 0.026),
    "XLM": Level(0.412, 0.027),
    "ATOM": Level(4.71, 0.026),
    "PAXG": Level(3_402, 0.007),
    "币安人生": Level(0.127, 0.04),
    "LUNA": Level(0.412, 0.03),
    "MATIC": Level(0.384, 0.028),
    "TESTA": Level(12.5, 0.02),
    "TESTB": Level(3.2, 0.02),
    "USDT": Level(1, 0),
    "USDC": Level(0.9998, 0.0001),
    "FDUSD": Level(0.9991, 0.0001),
    "BUSD": Level(1.0003, 0.0001),
    "TUSD": Level(0.9985, 0.0002),
    "EUR": Level(1.164, 0.003),
    "TRY": Level(0.0246, 0.003),
    "BRL": Level(0.179, 0.005),
}


# Members of the crowd are worth the same, and stay near it.
CROWD = Level(2.5, 0.0002)


def level_of(asset: str) -> Level:
    """Return the level of an asset."""
    return LEVELS.get(asset, CROWD)


class Prices:
    """Hourly marks of every asset, in logarithms of dollars."""

    def __init__(self, seed: int, reference_day: int, usd: Mapping[str, float]) -> None:
        self._seed = seed
        self._reference_day = reference_day
        self._usd = usd
        self._hours: Lru[tuple[str, int], tuple[float, ...]] = Lru(20_000)
        self._midnights: Lru[tuple[str, int], float] = Lru(20_000)
        self._lattice: Lru[tuple[str, int, int], float] = Lru(50_000)

    def marks(self, base: str, quote: str, day: int) -> list[float]:
        """Return the price of base in quote at the day's 25 full hours, midnight to midnight."""
        return [
            math.exp(one - other) for one, other in zip(self._asset(base, day), self._asset(quote, day), strict=True)
        ]

    def _asset(self, asset: str, day: int) -> tuple[float, ...]:
        return self._hours.get((asset, day), lambda: self._walk(asset, day))

    def _walk(self, asset: str, day: int) -> tuple[float, ...]:
        first = self._midnight(asset, day)
        stride = level_of(asset).volatility * 0.35
        if not stride:
            return (first,) * 25
        last = self._midnight(asset, day + 1)
        height, heights = 0.0, [0.0]
        for draw in draws(24, self._seed, "walk", asset, day):
            height += stride * signed_unit(draw)
            heights.append(height)
        # The walk is pulled straight at both ends, so that each midnight is the same from either side.
        return tuple(
            first * (1 - hour / 24) + last * (hour / 24) + (heights[hour] - height * (hour / 24)) for hour in range(25)
        )

    def _midnight(self, asset: str, day: int) -> float:
        level, volatility = math.log(self._usd.get(asset, level_of(asset).usd)), level_of(asset).volatility
        if not volatility:
            return level
        return level + volatility * (self._swing(asset, day) - self._swing(asset, self._reference_day))

    def _swing(self, asset: str, day: int) -> float:
        return self._midnights.get((asset, day), lambda: self._octaves(asset, day))

    def _octaves(self, asset: str, day: int) -> float:
        total = 0.0
        for period in PERIODS:
            index, rest = divmod(day, period)
            share = rest / period
            here = self._point(asset, period, index)
            there = self._point(asset, period, index + 1) if rest else here
            total += 0.6 * math.sqrt(period) * (here * (1 - share) + there * share)
        return total

    def _point(self, asset: str, period: int, index: int) -> float:
        key = (asset, period, index)
        return self._lattice.get(key, lambda: signed_unit(draws(1, self._seed, "level", *key)[0]))
