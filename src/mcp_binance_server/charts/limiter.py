"""Our own count of requests to chart-img.com: how fast they may follow each other, and how many images a day."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.charts.faults import secs_of_day_left
from mcp_binance_server.charts.plan_memory import PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.clock import Clock

LONGEST_WAIT_MS = 5_000
DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Pace:
    """Requests a second, how many of them at once, and images a day; None when nobody said how many."""

    per_second: float
    burst: int
    per_day: int | None


def plan_pace(plans: PlanMemory, *, per_second: float | None = None, per_day: int | None = None) -> Pace:
    """Return the pace of the plan in use, where nobody set another one.

    A plan that is only assumed sets the rate, which is safe, but not the day: who pays for more images gets them.
    """
    in_use = plans.current()
    plan = in_use.plan
    counted = in_use.source != "assumed" and plan.name in PLANS and not plan.open_ended
    return Pace(per_second or plan.requests_per_second, plan.burst, per_day or (plan.daily_max if counted else None))


@dataclass
class Limiter:
    """A queue with a pace: a request waits for its turn up to five seconds, or is told when to come back."""

    clock: Clock
    pace: Callable[[], Pace]
    _next_ms: float = field(default=float("-inf"), init=False)
    _closed_until_ms: float = field(default=float("-inf"), init=False)
    _day: int = field(default=0, init=False)
    _images: int = field(default=0, init=False)

    async def take_turn(self) -> None:
        """Wait until a request may leave.

        Raises:
            ChartLimitReached: that would be too long.
        """
        pace, now = self.pace(), self.clock.monotonic_ms()
        step_ms = 1000 / pace.per_second
        # Each request books the step behind the last one; the burst may be booked ahead of time.
        turn_ms = max(self._next_ms - (pace.burst - 1) * step_ms, self._closed_until_ms)
        wait_ms = max(0.0, turn_ms - now)
        if wait_ms > LONGEST_WAIT_MS:
            raise ChartLimitReached(retry_after_secs=ceil(wait_ms / 1000))
        self._next_ms = max(self._next_ms, now) + step_ms
        if wait_ms:
            await self.clock.sleep_ms(wait_ms)

    def close_for(self, duration_ms: float) -> None:
        """Let nobody leave for a while: the service said so."""
        self._closed_until_ms = max(self._closed_until_ms, self.clock.monotonic_ms() + duration_ms)

    def check_day(self) -> None:
        """Refuse an image that the day has no room for.

        Raises:
            ChartLimitReached: all images of the day are drawn.
        """
        if self.images_left == 0:
            raise ChartLimitReached(retry_after_secs=secs_of_day_left(self.clock.now_ms()), quota=True)

    def count_image(self) -> None:
        """Count one image that was, or may have been, drawn."""
        self._turn_day()
        self._images += 1

    @property
    def images_left(self) -> int | None:
        """Return how many images the day still has; None when the limit is not known."""
        self._turn_day()
        per_day = self.pace().per_day
        return None if per_day is None else max(0, per_day - self._images)

    def _turn_day(self) -> None:
        # Nobody documents when the day begins; 00:00 UTC is assumed, and the service has the last word.
        day = self.clock.now_ms() // DAY_MS
        if day != self._day:
            self._day, self._images = day, 0
