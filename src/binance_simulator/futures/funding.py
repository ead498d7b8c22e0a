"""Settled and current funding rates, computed from the premiums of each interval."""

from collections.abc import Iterator
from dataclasses import dataclass

from binance_simulator.futures.listing import ONBOARD_MS, Contract, FundingPlan
from binance_simulator.futures.premium import Premiums
from binance_simulator.market.listing import UNIT
from binance_simulator.market.prices import HOUR_MS

MINUTE_MS = 60_000
INTEREST = UNIT // 10_000  # 0.01 % per eight hours
DAMPER = 5 * UNIT // 10_000  # 0.05 %
FORMULA_HOURS = 8
DIVIDEND = -42 * UNIT // 10_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A funding interval, from one settlement to the next."""

    start_ms: int
    hours: int

    @property
    def end_ms(self) -> int:
        return self.start_ms + self.hours * HOUR_MS


@dataclass(frozen=True, slots=True)
class Payment:
    """One settlement. The rate is in units of 0.00000001."""

    at_ms: int
    rate: int
    special: bool = False


def interval_at(plan: FundingPlan, at_ms: int) -> Interval:
    """Return the interval that contains a time. A settlement time belongs to the interval that it starts."""
    hours = plan.hours_before if at_ms < plan.changed_ms else plan.hours
    length = hours * HOUR_MS
    return Interval(at_ms // length * length, hours)


def rate_of(average: int, hours: int, cap: int) -> int:
    """Return the funding rate for an average premium.

    The rate is average + clamp(interest - average, ±0.05 %), scaled to the interval and capped. The formula is for
    eight hours. Its scaling to shorter intervals is an assumption.
    """
    whole = average + max(-DAMPER, min(DAMPER, INTEREST - average))
    return max(-cap, min(cap, _divided(whole * hours, FORMULA_HOURS)))


class Funding:
    """Funding of one contract."""

    def __init__(self, contract: Contract, plan: FundingPlan, premiums: Premiums) -> None:
        self._contract = contract
        self._plan = plan
        self._premiums = premiums
        self._rates: dict[int, int] = {}
        self._running: tuple[int, int] = (-1, 0)

    def interval(self, now_ms: int) -> Interval:
        """Return the current interval."""
        return interval_at(self._plan, now_ms)

    def estimate(self, now_ms: int) -> int:
        """Return the preliminary rate of the current interval. In the last minute it equals the settled rate."""
        minute = now_ms // MINUTE_MS
        if self._running[0] != minute:
            self._running = (minute, self._estimated(now_ms))
        return self._running[1]

    def _estimated(self, now_ms: int) -> int:
        running = interval_at(self._plan, now_ms)
        minutes = (now_ms - running.start_ms) // MINUTE_MS + 1
        whole, rest = divmod(minutes, 60)
        seen = self._premiums.hours(self._contract, running.start_ms // HOUR_MS, whole + (rest > 0))
        total = sum(seen[:whole]) * 60 + (seen[-1] * rest if rest else 0)
        return rate_of(_divided(total, minutes), running.hours, self._plan.cap)

    def settled(self, end_ms: int) -> int:
        """Return the rate of the interval that ended at `end_ms`."""
        found = self._rates.get(end_ms)
        if found is None:
            ended = interval_at(self._plan, end_ms - 1)
            seen = self._premiums.hours(self._contract, ended.start_ms // HOUR_MS, ended.hours)
            found = self._rates[end_ms] = rate_of(_divided(sum(seen), ended.hours), ended.hours, self._plan.cap)
        return found

    def payments(self, now_ms: int) -> Iterator[Payment]:
        """Yield the settlements up to now, newest first."""
        at_ms = interval_at(self._plan, now_ms).start_ms
        special_ms = self._plan.special_ms
        while at_ms > ONBOARD_MS:
            before_ms = interval_at(self._plan, at_ms - 1).start_ms
            yield Payment(at_ms, self.settled(at_ms))
            if before_ms < special_ms < at_ms:
                yield Payment(special_ms, DIVIDEND, special=True)
            at_ms = before_ms


def _divided(total: int, count: int) -> int:
    """Divide, rounding half away from zero."""
    rounded = (2 * abs(total) + count) // (2 * count)
    return rounded if total >= 0 else -rounded
