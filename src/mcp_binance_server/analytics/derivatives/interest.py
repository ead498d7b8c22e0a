"""Open interest: number of contracts, their value, and the changes of both between hourly rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from mcp_binance_server.analytics.derivatives.hourly import HOUR_MS, by_hour, hours_before, is_fresh
from mcp_binance_server.analytics.ranks import Percentile, percentile_of
from mcp_binance_server.domain.derivatives import InterestPoint, OpenInterest, PremiumIndex

DAY_HOURS = 24
WEEK_HOURS = 168


@dataclass(frozen=True, slots=True)
class InterestChange:
    """Change of contracts and value between two hourly rows, in units and in %. It is None if a row is missing.

    Value moves with the price. Only the number of contracts shows whether positions were opened.
    """

    hours: int
    contracts: Decimal | None
    contracts_percent: Decimal | None
    value: Decimal | None
    value_percent: Decimal | None


@dataclass(frozen=True, slots=True)
class InterestReport:
    """Open interest now: contracts times mark price, each with its own time. Changes end at the hourly row `stamp_ms`.

    Open interest drifts, so its newest value is often its highest. Unusual moves show in the percentile of the change.
    """

    contracts: Decimal
    contracts_ms: int
    value: Decimal
    mark_ms: int
    stamp_ms: int | None
    change_1h: InterestChange
    change_24h: InterestChange
    change_7d: InterestChange
    percentile: Percentile
    change_24h_percentile: Percentile


def interest_report(
    now: OpenInterest, premium: PremiumIndex, points: Sequence[InterestPoint], now_ms: int
) -> InterestReport:
    """Describe open interest. If the hourly list is stale, only its newest timestamp is used."""
    hours = by_hour(points, now_ms)
    stamp = max(hours, default=None)
    known = hours if is_fresh(stamp, now_ms) else {}
    changes = daily_changes(known)
    earlier = {at: each for at, each in changes.items() if at != stamp}
    return InterestReport(
        contracts=now.contracts,
        contracts_ms=now.time_ms,
        value=now.contracts * premium.mark,
        mark_ms=premium.time_ms,
        stamp_ms=stamp,
        change_1h=interest_change(known, 1),
        change_24h=interest_change(known, DAY_HOURS),
        change_7d=interest_change(known, WEEK_HOURS),
        percentile=percentile_of(
            known[stamp].contracts if known and stamp is not None else None,
            {at: each.contracts for at, each in known.items() if at != stamp},
        ),
        change_24h_percentile=percentile_of(None if stamp is None else changes.get(stamp), earlier),
    )


def interest_change(hours: Mapping[int, InterestPoint], back: int) -> InterestChange:
    """Return the change from the row `back` hours before the newest row."""
    stamp = max(hours, default=None)
    before = None if stamp is None else hours_before(hours, stamp, back)
    if stamp is None or before is None:
        return InterestChange(back, None, None, None, None)
    now = hours[stamp]
    return InterestChange(
        back,
        now.contracts - before.contracts,
        percent(now.contracts, before.contracts),
        now.value - before.value,
        percent(now.value, before.value),
    )


def daily_changes(hours: Mapping[int, InterestPoint]) -> dict[int, Decimal]:
    """Return the 24-hour changes in contracts, in %, by timestamp. A row is needed one day before."""
    pairs = (
        (at, percent(point.contracts, before.contracts))
        for at, point in hours.items()
        if (before := hours.get(at - DAY_HOURS * HOUR_MS)) is not None
    )
    return {at: change for at, change in pairs if change is not None}


def percent(now: Decimal, before: Decimal) -> Decimal | None:
    """Return a change in %, or None if the earlier value is not positive."""
    return 100 * (now - before) / before if before > 0 else None
