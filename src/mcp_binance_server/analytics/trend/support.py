"""Support and resistance: prices where several reasons to turn meet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from mcp_binance_server.analytics.envelope import WhyNull
from mcp_binance_server.analytics.market.profile import VolumeProfile, nearest
from mcp_binance_server.analytics.robust import find_swings
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.money import Price
from mcp_binance_server.domain.periods import Candle

Origin = Literal["swing high", "swing low", "24h high", "24h low", "POC", "VAH", "VAL"]


@dataclass(frozen=True, slots=True)
class LevelReason:
    """One reason for a level; a swing says when it was."""

    origin: Origin
    price: Price
    time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """A level: the mean price of its members; its strength counts them and the other bars that touched it."""

    price: Price
    strength: int
    members: tuple[LevelReason, ...]
    touches: int


@dataclass(frozen=True, slots=True)
class SupportResistance:
    """The levels next to the price, and every level there is, lowest first."""

    support: Cluster | None
    resistance: Cluster | None
    clusters: tuple[Cluster, ...]
    n: int
    why_null: WhyNull | None = None


def candidates(
    candles: Sequence[Candle], high_24h: Price, low_24h: Price, profile: VolumeProfile | None, *, side: int
) -> list[LevelReason]:
    """Collect every price at which the market may turn."""
    swings = find_swings(candles, side)
    found = [LevelReason("swing high", candles[at].high, candles[at].open_time_ms) for at in swings.highs]
    found += [LevelReason("swing low", candles[at].low, candles[at].open_time_ms) for at in swings.lows]
    found += [LevelReason("24h high", high_24h), LevelReason("24h low", low_24h)]
    if profile is not None:
        area: tuple[tuple[Origin, Price | None], ...] = (
            ("POC", profile.poc),
            ("VAH", profile.vah),
            ("VAL", profile.val),
        )
        found += [LevelReason(origin, price) for origin, price in area if price is not None]
    return found


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
    """Merge candidates closer than a fraction of the ATR and pick the levels next to the price."""
    if atr is None:
        return SupportResistance(None, None, (), len(candles), "insufficient_bars")
    if atr <= 0:
        return SupportResistance(None, None, (), len(candles), "flat_range")
    reach = thresholds.cluster_atr * Decimal(str(atr))
    found = candidates(candles, high_24h, low_24h, profile, side=thresholds.swing_side)
    clusters = tuple(_cluster(group, candles, reach, tick) for group in _merge(found, reach))
    return SupportResistance(
        support=_next([each for each in reversed(clusters) if each.price < price], thresholds.cluster_min_strength),
        resistance=_next([each for each in clusters if each.price > price], thresholds.cluster_min_strength),
        clusters=clusters,
        n=len(candles),
    )


def _merge(found: Iterable[LevelReason], reach: Decimal) -> list[list[LevelReason]]:
    groups: list[list[LevelReason]] = []
    for member in sorted(found, key=lambda each: (each.price, each.origin, each.time_ms or 0)):
        # Measured from the mean of the group, so that a chain of near neighbours does not become one wide level.
        if groups and member.price - _mean(groups[-1]) < reach:
            groups[-1].append(member)
        else:
            groups.append([member])
    return groups


def _mean(members: Sequence[LevelReason]) -> Decimal:
    return sum((each.price for each in members), Decimal(0)) / len(members)


def _cluster(members: Sequence[LevelReason], candles: Sequence[Candle], reach: Decimal, tick: Price) -> Cluster:
    price = nearest(_mean(members), tick)
    swings = {each.time_ms for each in members if each.time_ms is not None}
    touches = sum(
        1
        for bar in candles
        if bar.open_time_ms not in swings and min(abs(bar.high - price), abs(bar.low - price)) <= reach
    )
    return Cluster(price, len(members) + touches, tuple(members), touches)


def _next(nearest_first: Sequence[Cluster], strong: int) -> Cluster | None:
    strong_ones = [each for each in nearest_first if each.strength >= strong]
    return next(iter(strong_ones or nearest_first), None)
