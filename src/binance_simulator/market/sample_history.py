"""Price history of the sample scenario: 70 volatile days, 21 calm days, and the last day.

The calm days have their own price levels. The history does not depend on the seed, because measurements must always
give the numbers of the sample pages.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

from binance_simulator.market.noise import draws, signed_unit
from binance_simulator.market.prices import HOUR_MS, UNIFORM, Course, bridge

DAY, STORM, CALM = 24, 70 * 24, 21 * 24
# The last day of the sample tickers: open, high and close for Bitcoin, hourly prices for the others.
BTC_DAY = (49_000, 51_000, 50_234.56)
LAST_DAY: Mapping[str, tuple[float, ...]] = {
    "ETH": (
        3_045.75, 3_045.75, 3_048, 3_050, 3_046, 3_041, 3_043, 3_036, 3_029, 3_032, 3_024, 3_017, 3_011,
        3_014, 3_006, 2_998, 2_991, 2_985, 2_980, 2_984, 2_989, 2_993, 2_990, 2_996, 3_000.5,
    ),
    "BNB": (
        297.4, 297.4, 297.9, 298.6, 298.2, 297.6, 298.1, 298.9, 299.6, 300.3, 299.9, 299.3, 299.8,
        300.6, 301.2, 301.9, 302.3, 301.8, 301.1, 300.5, 299.8, 299.4, 299.7, 299.9, 300.0,
    ),
}  # fmt: skip
# The calm days swing between two prices, so that both stand out by the rule of the levels: the price turned at each of
# them ten times. Each item has the hours before the end and the price.
LOW, HIGH, SWING = 49_740, 51_995, 23
TURNS = (
    (528, 50_400),
    *((hours, LOW if (hours - 72) // SWING % 2 == 0 else HIGH) for hours in range(509, 71, -SWING)),
    (50, 50_250),
    (24, 49_000),
)
# The three hours before and after a turn lead straight to it, which makes the turn distinct.
SHOULDER, APART = 3, 0.0022


class Mood(NamedTuple):
    """Daily volatility of an asset in the volatile and in the calm days, and its correlation with Bitcoin."""

    storm: float
    calm: float
    following: float


BTC_STORM, BTC_CALM, BTC_NOISE = 0.052, 0.0115, 0.03
# Daily volatility of Bitcoin around its swings.
BTC_SWING = 0.006
# These values keep each volatility class away from its limits at any hour of the day. So do the names of the draws.
MOODS: Mapping[str, Mood] = {"ETH": Mood(0.034, 0.016, 0.7), "BNB": Mood(0.019, 0.010, 0.7)}
# Share of a day's move by which an hour's range extends beyond its open and close. The last day is exact.
RESTLESS, RESTLESS_NOISE = 0.002, 0.03


@lru_cache(maxsize=16)
def sample_courses(end_hour: int, *, noisy: bool = False) -> Mapping[str, Course]:
    """Return the courses that end at an hour with the prices of the sample.

    With `noisy`, the three months before the last day have similarly volatile days.
    """
    heights = _noisy_bitcoin() if noisy else _calm_bitcoin()
    restless = RESTLESS_NOISE if noisy else RESTLESS
    followers = {asset: _follower(asset, mood, _calm_bitcoin()) for asset, mood in MOODS.items()}
    return {"BTC": Course(end_hour, (*map(math.exp, heights[:-1]), BTC_DAY[-1]), restless)} | {
        asset: Course(end_hour, usd, RESTLESS) for asset, usd in followers.items()
    }


def end_hour_of(now_ms: int) -> int:
    """Return the last hour of a course that ends now."""
    return now_ms // HOUR_MS


def _last_day() -> list[float]:
    # One hour at the open, fifteen up to the high, eight down to the close: a clear direction despite the noise.
    opened, high, closed = map(math.log, BTC_DAY)
    up = [opened + (high - opened) * hour / 15 for hour in range(16)]
    return [opened, *up, *(high + (closed - high) * hour / 8 for hour in range(1, 9))]


def _calm_bitcoin() -> list[float]:
    marks = [(hours, math.log(usd)) for hours, usd in TURNS]
    shouldered = [marks[0]]
    for (_, before), (hours, turn), (_, after) in zip(marks, marks[1:], marks[2:], strict=False):
        is_top = turn > before and turn > after
        is_bottom = turn < before and turn < after
        beside = turn - APART if is_top else turn + APART if is_bottom else turn
        shouldered += [(hours + SHOULDER, beside), (hours, turn), (hours - SHOULDER, beside)]
    shouldered.append(marks[-1])
    first = math.log(58_000)
    walk = [*_bridged("storm a", first, marks[0][1], STORM, BTC_STORM)]
    for (start, low), (end, high) in pairwise(shouldered):
        hourly = 0.0 if start - end <= SHOULDER else BTC_SWING
        walk += _bridged(f"calm {start}", low, high, start - end, hourly)[1:]
    return [*walk[:-1], *_last_day()]


def _noisy_bitcoin() -> list[float]:
    return [*_bridged("noise a", math.log(56_000), math.log(BTC_DAY[0]), STORM + CALM, BTC_NOISE)[:-1], *_last_day()]


def _bridged(name: str, first: float, last: float, hours: int, daily: float) -> Sequence[float]:
    return bridge(first, last, draws(hours, "sample", name), daily / math.sqrt(DAY))


def _follower(asset: str, mood: Mood, leader: Sequence[float]) -> tuple[float, ...]:
    alone = math.sqrt(1 - mood.following**2)
    day = LAST_DAY[asset]
    own = draws(STORM + CALM, "sample a", asset)
    moves: list[float] = []
    for hour, (draw, (before, after)) in enumerate(zip(own, pairwise(leader), strict=False)):
        mine, usual = (mood.storm, BTC_STORM) if hour < STORM else (mood.calm, BTC_CALM)
        together = mood.following * (after - before) / usual
        moves.append(mine * (together + alone * UNIFORM * signed_unit(draw) / math.sqrt(DAY)))
    heights = list(accumulate(moves, initial=0.0))
    return (*(day[0] * math.exp(height - heights[-1]) for height in heights[:-1]), *day)
