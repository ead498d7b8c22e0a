"""Our own count of requests to chart-img.com: how fast they may follow each other, and how many images a day."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from uuid import uuid4

from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.charts.faults import secs_of_day_left
from mcp_binance_server.charts.paced_turns import Pace, PacedTurns
from mcp_binance_server.charts.plan_memory import PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Admission, StateEngine

DAY_MS = 24 * 60 * 60 * 1000
# What is kept at the day's beginning for those who come next; the less the day has left, the less is kept.
NEWCOMERS_PART = 10
# More than any plan has, where nobody said how many.
MOST_IMAGES = 100_000


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
    """A queue with a pace, in which a request waits for its turn up to five seconds, and a count of the day's images.

    Turns go round the parties, and images are shared out among them.
    """

    clock: Clock
    engine: StateEngine
    pace: Callable[[], Pace]
    _turns: PacedTurns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._turns = PacedTurns(self.clock, self.pace)

    async def take_turn(self) -> None:
        """Wait until a request may leave.

        Raises:
            ChartLimitReached: that would be too long.
        """
        await self._turns.take()

    def close_for(self, duration_ms: float) -> None:
        """Let nobody leave for a while: the service said so."""
        self._turns.close_for(duration_ms)

    async def book_image(self) -> Booking:
        """Take one of the day's images, before it is asked for; all processes count together.

        Raises:
            ChartLimitReached: all images of the day are drawn, or those that are left are kept for other parties.
            EngineUnavailable: nobody can count now.
        """
        now_ms, per_day = self.engine.now_ms(), self.pace().per_day
        # Nobody documents when the day begins; 00:00 UTC is assumed, and the service has the last word.
        booking = Booking(_pool(now_ms), uuid4().hex)
        left_secs = secs_of_day_left(now_ms)
        admission = await self._taken(booking, per_day, left_secs * 1000)
        if not admission.admitted:
            is_used_up = admission.share > 0 or admission.count >= (MOST_IMAGES if per_day is None else per_day)
            raise ChartLimitReached(
                retry_after_secs=left_secs if is_used_up else ceil(admission.retry_ms / 1000),
                quota=is_used_up,
                own_images=admission.own if admission.share else None,
                images_share=admission.share or None,
            )
        return booking

    async def _taken(self, booking: Booking, per_day: int | None, left_ms: int) -> Admission:
        pool, image, party = booking.pool, booking.image, PARTY.get()
        if per_day is None:
            return await self.engine.admit(pool, image, ttl_ms=left_ms, cap=MOST_IMAGES, party=party)
        kept = per_day * left_ms // (NEWCOMERS_PART * DAY_MS)
        return await self.engine.take_share(pool, image, party=party, ttl_ms=left_ms, cap=per_day, newcomers=kept)

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
