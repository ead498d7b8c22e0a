"""Rate limit and daily image quota of chart-img.com, shared fairly among the parties of this server."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import ceil
from uuid import uuid4

from mcp_binance_server.charts.chartimg.faults import secs_of_day_left
from mcp_binance_server.charts.chartimg.plan_memory import PlanMemory
from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.clock import Clock
from mcp_binance_server.domain.access import PARTY
from mcp_binance_server.errors import EngineUnavailable
from mcp_binance_server.state.engine import Admission, Places

LONGEST_WAIT_MS = 5_000

DAY_MS = 24 * 60 * 60 * 1000
# At the start of a day one tenth of the images is reserved for new parties. The reserve shrinks as the day passes.
NEWCOMERS_PART = 10
# Daily image count used if the limit is unknown. It is above the limit of any plan.
MOST_IMAGES = 100_000


@dataclass(frozen=True, slots=True)
class Pace:
    """Requests per second, burst size and images per day. `per_day` is None if unknown."""

    per_second: float
    burst: int
    per_day: int | None

    @property
    def step_ms(self) -> float:
        return 1000 / self.per_second


@dataclass(eq=False, slots=True)
class _WaitingCall:
    party: str
    until_ms: float
    has_turn: bool = False
    is_refused: bool = False

    @property
    def is_over(self) -> bool:
        return self.has_turn or self.is_refused


class PacedTurns:
    """Rate-limited round-robin queue of parties.

    The queue holds as many requests as can be sent within five seconds. When it is full, a new request evicts the last
    request of the party with the longest queue. A party with at most an equal share is never evicted.
    """

    def __init__(self, clock: Clock, pace: Callable[[], Pace]) -> None:
        self._clock = clock
        self._pace = pace
        self._next_ms = float("-inf")
        self._closed_until_ms = float("-inf")
        # The first party in the dict is next.
        self._queues: dict[str, deque[_WaitingCall]] = {}

    def close_for(self, duration_ms: float) -> None:
        """Pause the whole queue for a while."""
        self._closed_until_ms = max(self._closed_until_ms, self._clock.monotonic_ms() + duration_ms)

    async def take(self) -> None:
        """Wait until the current party can send a request.

        Raises:
            ChartLimitReached: the wait would exceed five seconds.
        """
        party, now = PARTY.get(), self._clock.monotonic_ms()
        self._give(now)
        if self._ms_until_turn(now) > LONGEST_WAIT_MS:
            raise self._refusal(now)
        mine = _WaitingCall(party, now + LONGEST_WAIT_MS)
        self._queues.setdefault(party, deque()).append(mine)
        self._give(now)
        if self._ms_until_all_gone(now) > LONGEST_WAIT_MS:
            self._dismiss_one(party)
        try:
            while not mine.is_over:
                await self._clock.sleep_ms(max(0.0, min(self._ms_until_turn(now), mine.until_ms - now)))
                now = self._clock.monotonic_ms()
                self._give(now)
                mine.is_refused = not mine.has_turn and (mine.is_refused or now >= mine.until_ms)
        finally:
            self._forget(mine)
        if mine.is_refused:
            raise self._refusal(now)

    def _give(self, now: float) -> None:
        step_ms = self._pace().step_ms
        while self._queues and self._ms_until_turn(now) <= 0:
            party = next(iter(self._queues))
            queue = self._queues.pop(party)
            queue.popleft().has_turn = True
            if queue:
                self._queues[party] = queue
            self._next_ms = max(self._next_ms, now) + step_ms

    def _dismiss_one(self, asks: str) -> None:
        """Evict the last request of the party with the longest queue. In a tie, evict a request of the asking party."""
        most = max(self._queues, key=lambda party: (len(self._queues[party]), party == asks))
        last = self._queues[most][-1]
        last.is_refused = True
        self._forget(last)

    def _forget(self, one: _WaitingCall) -> None:
        queue = self._queues.get(one.party, deque())
        if one in queue:
            queue.remove(one)
        if not queue:
            self._queues.pop(one.party, None)

    def _ms_until_turn(self, now: float) -> float:
        # Generic cell rate algorithm (GCRA): each request moves the next slot by one step. A burst can use slots ahead
        # of time.
        pace = self._pace()
        return max(0.0, self._next_ms - (pace.burst - 1) * pace.step_ms - now, self._closed_until_ms - now)

    def _ms_until_all_gone(self, now: float) -> float:
        count = sum(map(len, self._queues.values()))
        return self._ms_until_turn(now) + (count - 1) * self._pace().step_ms if count else 0.0

    def _refusal(self, now: float) -> ChartLimitReached:
        count = sum(map(len, self._queues.values()))
        wait_ms = self._ms_until_turn(now) + count * self._pace().step_ms
        return ChartLimitReached(retry_after_secs=max(1, ceil(wait_ms / 1000)))


def plan_pace(plans: PlanMemory, *, per_second: float | None = None, per_day: int | None = None) -> Pace:
    """Return the pace of the current plan. Settings override it.

    A plan that does not bind is a lower bound. Its rate is used, because that is safe. Its daily limit is not used,
    because the key's real plan can have more images.
    """
    in_use = plans.current()
    plan = in_use.plan
    counted = in_use.binds and plan.name in PLANS and not plan.open_ended
    return Pace(per_second or plan.requests_per_second, plan.burst, per_day or (plan.daily_max if counted else None))


@dataclass(frozen=True, slots=True)
class Booking:
    """One image taken from the daily quota."""

    pool: str
    image: str


@dataclass
class Limiter:
    """Request queue and daily image count for chart-img.com.

    A request waits at most five seconds. Parties take turns, and the day's images are divided among them.
    """

    clock: Clock
    engine: Places
    pace: Callable[[], Pace]
    _turns: PacedTurns = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._turns = PacedTurns(self.clock, self.pace)

    async def take_turn(self) -> None:
        """Wait until the next request can be sent.

        Raises:
            ChartLimitReached: the wait would exceed five seconds.
        """
        await self._turns.take()

    def close_for(self, duration_ms: float) -> None:
        """Pause the queue after a rate-limit answer of the service."""
        self._turns.close_for(duration_ms)

    async def book_image(self) -> Booking:
        """Take one image from the daily quota before it is requested. All processes share the count.

        Raises:
            ChartLimitReached: the daily quota is used up, or the rest is reserved for other parties.
            EngineUnavailable: the shared count cannot be reached.
        """
        now_ms, per_day = self.engine.now_ms(), self.pace().per_day
        # The service does not document when its day starts. This server assumes 00:00 UTC; the service's answer
        # decides.
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
        """Return an undrawn image to the quota. It stays counted if the shared count cannot be reached."""
        with suppress(EngineUnavailable):
            await self.engine.leave(booking.pool, booking.image)

    async def images_left(self) -> int | None:
        """Return the number of images left today, or None if the limit or the count is unknown."""
        per_day = self.pace().per_day
        if per_day is None:
            return None
        with suppress(EngineUnavailable):
            return max(0, per_day - await self.engine.members(_pool(self.engine.now_ms())))
        return None


def _pool(now_ms: int) -> str:
    return f"chart images of day {now_ms // DAY_MS}"
