"""Support and resistance: prices at which the market may turn, and how often it turned there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.market.profile import VolumeProfile, nearest
from mcp_binance_server.analytics.metric import WhyNull
from mcp_binance_server.analytics.swings import find_swings
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.analytics.trend.approaches import (
    LEAST_APPROACHES,
    Approaches,
    Bar,
    approaches,
    bars_of,
    beats_chance,
    share_held_anywhere,
    strength,
)
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

Origin = Literal["swing high", "swing low", "24h high", "24h low", "POC", "VAH", "VAL", "round number"]

# Levels that are tested: those with the most swings, an ATR apart. With more tests each would need more approaches.
MOST_TESTED = 3
# In ATR: distance that counts as near a level.
NEAR = Decimal("0.25")
# Minimum distance in ticks. At any ATR, a closer level is at the price itself.
LEAST_TICKS = 3
ROUND = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class LevelReason:
    """One reason for a level. A swing also has its time and the first bar at which it was known."""

    origin: Origin
    price: Price
    time_ms: int | None = None
    known_from: int | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A level: the mean price of its reasons, and the outcome of approaches to it."""

    price: Price
    members: tuple[LevelReason, ...]
    approaches: Approaches
    strength: float
    stands_out: bool


@dataclass(frozen=True, slots=True)
class SupportResistance:
    """Nearest support and resistance, the levels at the price, and all levels, lowest first.

    `usual` is the hold rate of arbitrary prices. `reach` is the distance that counts as near a level.
    """

    support: Cluster | None
    resistance: Cluster | None
    clusters: tuple[Cluster, ...]
    n: int
    at_price: tuple[Cluster, ...] = ()
    usual: float | None = None
    reach: Decimal = Decimal(0)
    why_null: WhyNull | None = None

    def level_at(self, low: Price, high: Price) -> Cluster | None:
        """Return the level that stands out in or near a band of prices, the closest to its middle."""
        middle = (low + high) / 2
        within = low - self.reach, high + self.reach
        near = [each for each in self.clusters if each.stands_out and within[0] <= each.price <= within[1]]
        return min(near, key=lambda each: abs(each.price - middle), default=None)


def candidates(
    candles: Sequence[Candle], high_24h: Price, low_24h: Price, profile: VolumeProfile | None, *, side: int
) -> list[LevelReason]:
    """Collect the prices at which the market may turn: reasons for levels."""
    swings = find_swings(candles, side)
    found = [
        LevelReason("swing high", candles[at].high, candles[at].open_time_ms, at + side + 1) for at in swings.highs
    ]
    found += [LevelReason("swing low", candles[at].low, candles[at].open_time_ms, at + side + 1) for at in swings.lows]
    found += [LevelReason("24h high", high_24h), LevelReason("24h low", low_24h)]
    if profile is not None:
        area: tuple[tuple[Origin, Price | None], ...] = (
            ("POC", profile.poc),
            ("VAH", profile.vah),
            ("VAL", profile.val),
        )
        found += [LevelReason(origin, price) for origin, price in area if price is not None]
    return found


def round_numbers(price: Price, low: Decimal, high: Decimal) -> list[LevelReason]:
    """Return the nearest round numbers on either side (1, 2 or 5 times a power of ten).

    A round number outside `low` to `high` is left out.
    """
    if price <= 0:
        return []
    places = range(price.adjusted() - 1, price.adjusted() + 2)
    steps = sorted(Price(Decimal(digit).scaleb(place)) for place in places for digit in ROUND)
    below, above = max(each for each in steps if each <= price), min(each for each in steps if each > price)
    return [LevelReason("round number", each, known_from=0) for each in (below, above) if low <= each <= high]


def support_and_resistance(
    candles: Sequence[Candle],
    price: Price,
    atr: float | None,
    *,
    high_24h: Price,
    low_24h: Price,
    profile: VolumeProfile | None,
    tick: Price,
    thresholds: Thresholds = DEFAULTS,
) -> SupportResistance:
    """Find support and resistance.

    Candidates closer than a fraction of the ATR are merged into levels. The levels with the most swings are tested
    against arbitrary prices.
    """
    if atr is None:
        return SupportResistance(None, None, (), len(candles), why_null="insufficient_bars")
    if atr <= 0:
        return SupportResistance(None, None, (), len(candles), why_null="flat_range")
    unit = Decimal(str(atr))
    together = thresholds.cluster_atr * unit
    found = candidates(candles, high_24h, low_24h, profile, side=thresholds.swing_side)
    edges = [*(each.low for each in candles), low_24h], [*(each.high for each in candles), high_24h]
    found += round_numbers(price, min(edges[0]) - unit, max(edges[1]) + unit)
    bars = bars_of(candles)
    usual = share_held_anywhere(bars, atr)
    clusters = _tried(_merge(found, together), bars, atr, usual=usual, tick=tick)
    apart = max(unit * thresholds.level_atr, LEAST_TICKS * tick)
    return SupportResistance(
        support=next((each for each in reversed(clusters) if price - each.price >= apart), None),
        resistance=next((each for each in clusters if each.price - price >= apart), None),
        clusters=clusters,
        n=len(candles),
        at_price=tuple(each for each in clusters if abs(each.price - price) < apart),
        usual=usual,
        reach=max(NEAR * unit, LEAST_TICKS * tick),
    )


def _merge(found: Iterable[LevelReason], reach: Decimal) -> list[list[LevelReason]]:
    groups: list[list[LevelReason]] = []
    for member in sorted(found, key=lambda each: (each.price, each.origin, each.time_ms or 0)):
        # Compare with the mean of the group. Otherwise a chain of near neighbours would become one wide level.
        if groups and member.price - _mean(groups[-1]) < reach:
            groups[-1].append(member)
        else:
            groups.append([member])
    return groups


def _mean(members: Sequence[LevelReason]) -> Decimal:
    return sum((each.price for each in members), Decimal(0)) / len(members)


def _tried(
    groups: Sequence[Sequence[LevelReason]], bars: Sequence[Bar], atr: float, *, usual: float, tick: Price
) -> tuple[Cluster, ...]:
    prices = [nearest(_mean(members), tick) for members in groups]
    # Approaches count from the first reason on. The bars that formed a level are no evidence for it.
    known = [[each.known_from for each in members if each.known_from is not None] for members in groups]
    seen = [
        approaches(float(price), bars[min(since, default=len(bars)) :], atr)
        for price, since in zip(prices, known, strict=True)
    ]
    chosen = _most_swings(prices, groups, seen, atr)
    return tuple(
        Cluster(
            price,
            tuple(members),
            each,
            strength(each, usual),
            at in chosen and beats_chance(each, usual, len(chosen)),
        )
        for at, (price, members, each) in enumerate(zip(prices, groups, seen, strict=True))
    )


def _most_swings(
    prices: Sequence[Price], groups: Sequence[Sequence[LevelReason]], seen: Sequence[Approaches], atr: float
) -> set[int]:
    """Return the places of the levels to test."""
    chosen: list[int] = []
    for at in sorted(range(len(prices)), key=lambda place: -len(groups[place])):
        apart = all(abs(float(prices[at] - prices[other])) >= atr for other in chosen)
        if seen[at].n >= LEAST_APPROACHES and apart and len(chosen) < MOST_TESTED:
            chosen.append(at)
    return {*chosen}
