"""What is unusual in a window of the live market: which rules were met, and which could not be applied, and why.

Books and tapes name no traders and no orders, so a finding is only ever consistent with a behaviour.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from mcp_binance_server.analytics.book.behaviour import BookSide, absorption, fleeting_level, iceberg_at
from mcp_binance_server.analytics.book.level_history import SIDES, LevelHistory, LevelWindow, PassingLevel
from mcp_binance_server.analytics.envelope import Confidence, Severity, Unknown
from mcp_binance_server.analytics.market.stress import CrashFlags, MarketHour, crash_flags_in, stuffing_in
from mcp_binance_server.analytics.robust import robust_z_of
from mcp_binance_server.analytics.thresholds import DEFAULTS, Thresholds
from mcp_binance_server.domain.market import WrittenLevel

AnomalyType = Literal["iceberg", "absorption", "spoof_like", "quote_stuffing", "flash_crash_flags"]
# Beyond these the rest is counted, not listed.
MOST_FOUND = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Anomaly:
    """One finding: what was measured, where, and how sure the window makes it; never `high`, for intent is unseen."""

    type: AnomalyType
    severity: Severity | None
    confidence: Confidence
    measured: Mapping[str, float]
    price: float | None = None
    side: BookSide | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnomalyVerdict:
    """What one rule made of a window: findings, largest first, how many in all, or why it could not be applied."""

    type: AnomalyType
    found: tuple[Anomaly, ...] = ()
    total: int = 0
    measured: Mapping[str, float] = field(default_factory=dict[str, float])
    unknown: Unknown | None = None


class Ladder(NamedTuple):
    """The levels of one side as they stand now, by rising price."""

    prices: Sequence[float]
    sizes: Sequence[float]
    total: float

    @classmethod
    def of(cls, levels: Sequence[WrittenLevel]) -> "Ladder":
        rising = sorted((float(price), float(quantity)) for price, quantity in levels)
        sizes = [size for _, size in rising]
        return cls([price for price, _ in rising], sizes, sum(sizes))

    def neighbours(self, price: float, reach: int) -> list[float]:
        """Return the sizes on both sides of a price, without its own."""
        at = bisect_left(self.prices, price)
        after = at + (at < len(self.prices) and self.prices[at] == price)
        return [*self.sizes[max(0, at - reach) : at], *self.sizes[after : after + reach]]


class Ladders(NamedTuple):
    """Both sides of the book as it stands."""

    bid: Ladder
    ask: Ladder

    def of(self, side: BookSide) -> Ladder:
        return self.bid if side == "bid" else self.ask

    def large(self, *, thresholds: Thresholds = DEFAULTS) -> dict[BookSide, float]:
        """Return the sizes from which on a level is large for its side, as a wall is.

        Without this, recorded minutes of two symbols met the rule for fleeting levels 11 to 175 times each, by quotes
        that only moved; with it, 3 minutes of 20 met it once.
        """
        return {side: thresholds.wall_share * self.of(side).total for side in SIDES}


def pattern_verdicts(
    window: LevelWindow,
    ladders: Ladders,
    waiting: Unknown | None,
    *,
    is_whole: bool = True,
    thresholds: Thresholds = DEFAULTS,
) -> tuple[AnomalyVerdict, ...]:
    """Judge the prices of a window; while it is `waiting` to fill, a finding counts, and the lack of one does not."""
    confidence: Confidence = "medium" if is_whole and waiting is None else "low"
    icebergs = [found for each in window.histories if (found := _iceberg(each, confidence, thresholds))]
    absorbed = [
        found for each in window.histories if (found := _absorbed(each, window.median_value, confidence, thresholds))
    ]
    fleeting = [
        found for each in window.passing if (found := _fleeting(each, ladders.of(each.side), confidence, thresholds))
    ]
    traded = len(window.histories)
    no_trades = waiting or (None if traded else Unknown("no_trades"))
    no_events = waiting or (None if window.updates else Unknown("no_events"))
    return (
        _verdict("iceberg", icebergs, traded, no_trades),
        _verdict("absorption", absorbed, traded, no_trades),
        _verdict("spoof_like", fleeting, len(window.passing), no_events),
    )


def stuffing_verdict(
    hour: MarketHour, window_ms: int, waiting: Unknown, *, thresholds: Thresholds = DEFAULTS
) -> AnomalyVerdict:
    """Judge the rate of level changes; `waiting` says how far the hour of baseline has come."""
    seen = stuffing_in(hour, window_ms, thresholds=thresholds)
    measured = _known(per_second=seen.rate.per_second, z=seen.z, z_per_trade=seen.z_per_trade)
    if seen.why_null is not None:
        short = hour.span_ms < thresholds.baseline_ms
        unknown = waiting if short else Unknown(seen.why_null)
        return AnomalyVerdict(type="quote_stuffing", measured=measured, unknown=unknown)
    found = Anomaly(type="quote_stuffing", severity=seen.severity, confidence="medium", measured=measured)
    return AnomalyVerdict(
        type="quote_stuffing", found=(found,) if seen.flag else (), total=seen.flag, measured=measured
    )


def crash_verdict(
    hour: MarketHour,
    waiting: Unknown | None,
    *,
    usual_volatility: float | None = None,
    thresholds: Thresholds = DEFAULTS,
) -> AnomalyVerdict:
    """Count the flags that stand; an hour of baseline makes them surer than the minutes that are the least."""
    if waiting is not None:
        return AnomalyVerdict(type="flash_crash_flags", unknown=waiting)
    flags = crash_flags_in(hour, usual_volatility=usual_volatility, thresholds=thresholds)
    if flags.why_null is not None:
        return AnomalyVerdict(type="flash_crash_flags", unknown=Unknown(flags.why_null))
    measured = _flags(flags)
    confidence: Confidence = "medium" if hour.span_ms >= thresholds.baseline_ms else "low"
    found = Anomaly(type="flash_crash_flags", severity=flags.severity, confidence=confidence, measured=measured)
    some = flags.raised > 0
    return AnomalyVerdict(type="flash_crash_flags", found=(found,) if some else (), total=some, measured=measured)


def _verdict(kind: AnomalyType, found: Sequence[Anomaly], levels: int, unknown: Unknown | None) -> AnomalyVerdict:
    if not found and unknown is not None:
        return AnomalyVerdict(type=kind, unknown=unknown)
    return AnomalyVerdict(type=kind, found=tuple(found[:MOST_FOUND]), total=len(found), measured={"levels": levels})


def _iceberg(history: LevelHistory, confidence: Confidence, thresholds: Thresholds) -> Anomaly | None:
    seen = iceberg_at(history.states, thresholds=thresholds)
    if not seen.flag or seen.ratio is None:
        return None
    return Anomaly(
        type="iceberg",
        severity=seen.severity,
        confidence=confidence,
        measured={"executed_over_displayed": round(seen.ratio, 2), "refills": seen.refills},
        price=history.price,
        side=history.side,
    )


def _absorbed(
    history: LevelHistory, median_value: float | None, confidence: Confidence, thresholds: Thresholds
) -> Anomaly | None:
    relative = history.value / median_value if median_value else None
    seen = absorption(
        history.states, history.side, price_held=history.held, traded_over_median=relative, thresholds=thresholds
    )
    if not seen.flag:
        return None
    return Anomaly(
        type="absorption",
        severity=seen.severity,
        confidence=confidence,
        measured={"times": seen.times, **_known(value_over_median=relative)},
        price=history.price,
        side=history.side,
    )


def _fleeting(passing: PassingLevel, ladder: Ladder, confidence: Confidence, thresholds: Thresholds) -> Anomaly | None:
    neighbours = ladder.neighbours(passing.price, thresholds.wall_neighbours)
    enough = len(neighbours) >= thresholds.wall_min_neighbours
    z = robust_z_of(passing.added, neighbours, "log").z if enough else None
    seen = fleeting_level(
        passing.added,
        passing.traded,
        passing.life_ms,
        z=z,
        opposite_traded=passing.opposite_traded,
        thresholds=thresholds,
    )
    if not seen.flag or z is None:
        return None
    return Anomaly(
        type="spoof_like",
        severity=seen.severity,
        confidence=confidence,
        measured={
            "share_of_side": round(passing.added / ladder.total, 3),
            "life_ms": passing.life_ms,
            "traded_share": round(passing.traded / passing.added, 4),
            "z": round(z, 2),
        },
        price=passing.price,
        side=passing.side,
    )


def _flags(flags: CrashFlags) -> dict[str, float]:
    named = {
        "thin_depth": flags.thin_depth,
        "wide_spread": flags.wide_spread,
        "volatile": flags.volatile,
        "one_sided_flow": flags.one_sided_flow,
    }
    known = {name: int(flag) for name, flag in named.items() if flag is not None}
    return {"raised": flags.raised, "assessed": flags.assessed, **known}


def _known(**measured: float | None) -> dict[str, float]:
    return {name: round(value, 2) for name, value in measured.items() if value is not None}
