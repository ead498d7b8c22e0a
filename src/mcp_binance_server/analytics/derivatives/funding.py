"""Funding of a perpetual: interval, annualised rate, paid funding, and the percentile of the last settlement."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Literal

from mcp_binance_server.analytics.derivatives.hourly import HOUR_MS
from mcp_binance_server.analytics.ranks import Percentile, percentile_of
from mcp_binance_server.domain.derivatives import (
    USUAL_FUNDING_HOURS,
    FundingPayment,
    FundingRule,
    IntervalSource,
    PremiumIndex,
)
from mcp_binance_server.domain.periods import DAY_MS

AtLimit = Literal["cap", "floor"]
_YEAR_DAYS = 365
# Settlements have a timestamp some milliseconds after their hour. They are published a little later.
_LATE_MS = 300_000


@dataclass(frozen=True, slots=True)
class FundingInterval:
    """Hours between two settlements, and the source of this number."""

    hours: int
    source: IntervalSource


@dataclass(frozen=True, slots=True)
class PaidFunding:
    """Sum of the funding rates of `days` days: as a share of the position, and as simple % a year.

    Both are None if a settlement is missing or the data does not reach back far enough. A partial sum would look like a
    low rate.
    """

    days: int
    rate: Decimal | None
    apr: Decimal | None
    settlements: int


@dataclass(frozen=True, slots=True)
class FundingReport:
    """The estimated funding for the settlement at `next_ms`, past settlements, and the percentile of the last one.

    Rates are shares of the position per interval. `apr` is simple % a year. The percentile compares rates per hour,
    because settlements can have different intervals. The estimate has no percentile. It averages only the
    elapsed part of an interval, so it varies more than settled rates, and earlier estimates are not published.
    """

    interval: FundingInterval
    estimate: Decimal | None
    next_ms: int | None
    apr: Decimal | None
    cap: Decimal | None
    floor: Decimal | None
    at_limit: AtLimit | None
    paid_7d: PaidFunding
    paid_30d: PaidFunding
    settled: Decimal | None
    percentile: Percentile
    last_settled_ms: int | None


def annualised(rate: Decimal, interval_hours: int) -> Decimal:
    """Convert a rate per interval to simple % a year.

    A rate of 0.0001 is 10.95 % at 8 hours, 21.90 % at 4 hours and 87.60 % at 1 hour.
    """
    if interval_hours <= 0:
        raise ValueError("an interval lasts at least an hour")
    return 100 * rate * 24 * _YEAR_DAYS / interval_hours


def funding_report(
    premium: PremiumIndex, rule: FundingRule | None, payments: Sequence[FundingPayment], now_ms: int
) -> FundingReport:
    """Describe the funding of a contract. Payments that are dividends are ignored."""
    settled = settlements(payments, now_ms)
    interval = funding_interval(rule, settled)
    estimate = premium.funding
    return FundingReport(
        interval=interval,
        estimate=estimate,
        next_ms=premium.next_funding_ms,
        apr=None if estimate is None else annualised(estimate, interval.hours),
        cap=rule.cap if rule else None,
        floor=rule.floor if rule else None,
        at_limit=_limit(estimate, rule),
        paid_7d=paid(settled, 7, now_ms),
        paid_30d=paid(settled, 30, now_ms),
        settled=settled[-1].rate if settled else None,
        percentile=_settled_percentile(hourly_rates(settled), settled),
        last_settled_ms=settled[-1].time_ms if settled else None,
    )


def settlements(payments: Sequence[FundingPayment], now_ms: int) -> list[FundingPayment]:
    """Return past funding settlements by time, without duplicates. Payments also contain dividends."""
    regular = {
        round(each.time_ms / HOUR_MS): each
        for each in payments
        if each.is_regular and each.time_ms <= now_ms + _LATE_MS
    }
    return [each for _, each in sorted(regular.items())]


def funding_interval(rule: FundingRule | None, settled: Sequence[FundingPayment]) -> FundingInterval:
    """Return the funding interval.

    The first source that has the interval is used: the exchange's rule, the last two settlements, or the usual
    interval.
    """
    if rule is not None:
        return FundingInterval(rule.interval_hours, "exchange")
    hours = _spacing(settled[-2], settled[-1]) if len(settled) > 1 else None
    return FundingInterval(hours, "settlements") if hours else FundingInterval(USUAL_FUNDING_HOURS, "assumed")


def hourly_rates(settled: Sequence[FundingPayment]) -> dict[int, Decimal]:
    """Return each funding rate per hour, by time.

    A settlement without a known predecessor is left out, because its interval is unknown.
    """
    spaced = ((after, _spacing(before, after)) for before, after in pairwise(settled))
    return {each.time_ms: each.rate / hours for each, hours in spaced if hours}


def _settled_percentile(hourly: dict[int, Decimal], settled: Sequence[FundingPayment]) -> Percentile:
    """Rank the last settled rate among the settlements before it."""
    last = hourly.pop(settled[-1].time_ms, None) if settled else None
    return percentile_of(last, hourly)


def paid(settled: Sequence[FundingPayment], days: int, now_ms: int) -> PaidFunding:
    """Sum the settlements of the last `days` days."""
    begin = now_ms - days * DAY_MS
    within = [each for each in settled if each.time_ms > begin]
    if not _covers(settled, begin, now_ms):
        return PaidFunding(days, None, None, len(within))
    rate = sum((each.rate for each in within), Decimal(0))
    return PaidFunding(days, rate, 100 * rate * _YEAR_DAYS / days, len(within))


def _covers(settled: Sequence[FundingPayment], begin_ms: int, now_ms: int) -> bool:
    before = [each for each in settled if each.time_ms <= begin_ms]
    if not before:
        return False
    longest_ms = USUAL_FUNDING_HOURS * HOUR_MS + _LATE_MS
    times = [before[-1].time_ms, *(each.time_ms for each in settled if each.time_ms > begin_ms), now_ms]
    return all(after - earlier <= longest_ms for earlier, after in pairwise(times))


def _spacing(before: FundingPayment, after: FundingPayment) -> int | None:
    hours = round((after.time_ms - before.time_ms) / HOUR_MS)
    return hours if 0 < hours <= USUAL_FUNDING_HOURS else None


def _limit(estimate: Decimal | None, rule: FundingRule | None) -> AtLimit | None:
    if estimate is None or rule is None:
        return None
    if estimate >= rule.cap:
        return "cap"
    return "floor" if estimate <= rule.floor else None
