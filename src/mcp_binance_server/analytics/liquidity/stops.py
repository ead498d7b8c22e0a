"""Stop prices beyond the usual noise, and the probability that noise alone still touches them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from math import erfc, exp, log, sqrt
from statistics import median
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.liquidity.thin_ranges import ThinRange
from mcp_binance_server.analytics.market.profile import usable
from mcp_binance_server.analytics.market.volatility import garman_klass
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import DAY_MS, Candle

StopSide = Literal["long", "short"]
StopFrom = Literal["noise", "ticks", "spread", "thin_range", "standing_size"]

# Minimum median number of trades in a bar. Range estimators are too low for bars with fewer trades, so such bars are
# merged.
LEAST_TRADES = 20
LEAST_BARS = 6
JOINED = (1, 3, 12, 48)

LEAST_TICKS, LEAST_SPREADS = 3, 2
# If an obstacle ends this close to the stop, as a share of the distance, the stop is placed slightly beyond the
# obstacle.
NEAR = Decimal("0.25")
BEYOND = Decimal("0.002")


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Usual move of a day, as a standard deviation of log returns, and the bars that it was estimated from."""

    day: float
    bars: int
    bar_ms: int

    def over(self, horizon_ms: int) -> float:
        """Return the usual move over a horizon. It grows with the square root of time."""
        return self.day * sqrt(horizon_ms / DAY_MS)


class StopPrice(NamedTuple):
    """A stop, the reason for its distance, and the edge of the obstacle before it, if any.

    `chance` is the probability that a driftless random walk touches the stop within the horizon. It is an
    approximation.
    """

    side: StopSide
    price: Price
    origin: StopFrom
    edge: Price | None
    distance_percent: float
    chance: float
    horizon_ms: int


class _Obstacle(NamedTuple):
    origin: StopFrom
    near: Decimal
    far: Decimal
    edge: Price


def noise_of(candles: Sequence[Candle]) -> Noise | None:
    """Estimate the usual move with the Garman-Klass estimator.

    The bars are merged until they have enough trades. Return None if even the longest bars have too few.
    """
    for count in JOINED:
        bars = [_one_bar(candles[at : at + count]) for at in range(0, len(candles) - count + 1, count)]
        if len(bars) < LEAST_BARS:
            return None
        if median(each.trade_count for each in bars) >= LEAST_TRADES:
            variance = garman_klass(_connected(bars)).value
            bar_ms = bars[0].close_time_ms + 1 - bars[0].open_time_ms
            return Noise(day=sqrt(variance * DAY_MS / bar_ms), bars=len(bars), bar_ms=bar_ms) if variance else None
    return None


def chance_of_touch(distance: float, deviation: float) -> float:
    """Return the probability that a driftless random walk touches a distance within a horizon.

    By the reflection principle it is twice the probability of ending beyond the distance. Distance and deviation are
    logarithms.
    """
    return erfc(distance / deviation / sqrt(2))


def stop_price(
    price: Price,
    noise: Noise,
    *,
    tick: Price,
    spread: Price | None = None,
    thin: Sequence[ThinRange] = (),
    standing: Sequence[Price] = (),
    side: StopSide = "long",
    horizon_ms: int = DAY_MS,
) -> StopPrice:
    """Place a stop one usual move of the horizon away. Obstacles near that distance only move it farther away."""
    step, deviation = usable(tick), noise.over(horizon_ms)
    sign = -1 if side == "long" else 1
    reasons: dict[StopFrom, Decimal] = {
        "noise": abs(price * (Decimal(repr(exp(sign * deviation))) - 1)),
        "ticks": LEAST_TICKS * step,
        "spread": LEAST_SPREADS * (spread or Decimal(0)),
    }
    origin = max(reasons, key=lambda each: reasons[each])
    distance, edge = reasons[origin], None
    margin = max(BEYOND * price, LEAST_TICKS * step)
    for each in _in_the_way(_obstacles(price, thin, standing, sign), reasons[origin]):
        if each.far + margin > distance:
            origin, distance, edge = each.origin, each.far + margin, each.edge
    # Round outwards, so that the stop is never closer. Its price must be above 0.
    rounding = ROUND_FLOOR if side == "long" else ROUND_CEILING
    at = Price(max(step, ((price + sign * distance) / step).to_integral_value(rounding) * step))
    return StopPrice(
        side=side,
        price=at,
        origin=origin,
        edge=edge,
        distance_percent=float(abs(at - price) / price * 100),
        chance=chance_of_touch(abs(log(at / price)), deviation),
        horizon_ms=horizon_ms,
    )


def _obstacles(price: Price, thin: Sequence[ThinRange], standing: Sequence[Price], sign: int) -> list[_Obstacle]:
    found = [_Obstacle("standing_size", sign * (each - price), sign * (each - price), each) for each in standing]
    for each in thin:
        near, far = (each.high, each.low) if sign < 0 else (each.low, each.high)
        found.append(_Obstacle("thin_range", sign * (near - price), sign * (far - price), far))
    return found


def _in_the_way(obstacles: Sequence[_Obstacle], distance: Decimal) -> list[_Obstacle]:
    """Keep the obstacles that end near the distance or contain it."""
    least, most = distance * (1 - NEAR), distance * (1 + NEAR)
    return [each for each in obstacles if least <= each.far <= most or each.near <= distance <= each.far]


def _one_bar(candles: Sequence[Candle]) -> Candle:
    """Merge several bars into one. The volumes of the first bar are kept, because no caller reads them."""
    last = candles[-1]
    return replace(
        candles[0],
        close_time_ms=last.close_time_ms,
        high=max(each.high for each in candles),
        low=min(each.low for each in candles),
        close=last.close,
        trade_count=sum(each.trade_count for each in candles),
    )


def _connected(bars: Sequence[Candle]) -> list[Candle]:
    """Start each bar at the previous close, so that price gaps between bars count as moves."""
    return [
        bars[0],
        *(
            replace(each, open=last.close, high=max(each.high, last.close), low=min(each.low, last.close))
            for last, each in pairwise(bars)
        ),
    ]
