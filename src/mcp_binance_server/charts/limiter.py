"""Our own count of requests to chart-img.com: how fast they may follow each other, and how many images a day."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from uuid import uuid4

from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.charts.faults import secs_of_day_left
from mcp_binance_server.charts.plan_memory import PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.clock import Clock
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import StateEngine

LONGEST_WAIT_MS = 5_000
DAY_MS = 24 * 60 * 60 * 1000
# More than any plan has, where nobody said how many.
MOST_IMAGES = 100_000


@dataclass(frozen=True, slots=True)
class Pace:
    """Requests a second, how many of them at once, and images a day; None when nobody said how many."""

    per_second: float
    burst: int
    per_day: int | None


def plan_pace(plans: PlanMemory, *, per_second: float | None = None, per_day: int | None = None) -> Pace:
    """Return the pace of the plan in use, where nobody set another one.

    A plan that does not bind sets the rate, which is safe, but not the day: who pays for more images gets them.
    """
    in_use = plans.current()
    plan = in_use.plan
    counted = in_use.binds and plan.name in PLANS and not plan.open_ended
    return Pace(per_second or plan.requests_per_second, plan.burst, per_day or (plan.daily_max if counted else None))


@dataclass(frozen=True, slots=True)
class Booking:
    """One image of a day."""

    pool: str
    image: str


@dataclass
class Limiter:
    """A queue with a pace: a request waits for its turn up to five seconds, or is told when to come back."""

    clock: Clock
    engine: StateEngine
    pace: Callable[[], Pace]
    _next_ms: float = field(default=float("-inf"), init=False)
    _closed_until_ms: float = field(default=float("-inf"), init=False)

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

    async def book_image(self) -> Booking:
        """Take one of the day's images, before it is asked for; all processes count together.

        Raises:
            ChartLimitReached: all images of the day are drawn.
            EngineUnavailable: nobody can count now.
        """
        now_ms, per_day = self.engine.now_ms(), self.pace().per_day
        # Nobody documents when the day begins; 00:00 UTC is assumed, and the service has the last word.
        booking = Booking(_pool(now_ms), uuid4().hex)
        left_secs = secs_of_day_left(now_ms)
        cap = MOST_IMAGES if per_day is None else per_day
        admission = await self.engine.admit(booking.pool, booking.image, ttl_ms=left_secs * 1000, cap=cap)
        if not admission.admitted:
            is_full = admission.count >= cap
            raise ChartLimitReached(
                retry_after_secs=left_secs if is_full else ceil(admission.retry_ms / 1000), quota=is_full
            )
        return booking

    async def give_back(self, booking: Booking) -> None:
        """Return an image that was certainly not drawn; if that cannot be told to the others, it stays counted."""
        with suppress(EngineUnavailable):
            await self.engine.leave(booking.pool, booking.image)

    async def images_left(self) -> int | None:
        """Return how many images the day still has; None when the limit, or what was drawn, is not known."""
        per_day = self.pace().per_day
        if per_day is None:
            return None
        with suppress(EngineUnavailable):
            return max(0, per_day - await self.engine.members(_pool(self.engine.now_ms())))
        return None


def _pool(now_ms: int) -> str:
    return f"chart images of day {now_ms // DAY_MS}"
