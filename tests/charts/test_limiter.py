"""Our own pace towards chart-img: a burst, then a rate, a wait of five seconds at most, and so many images a day."""

import anyio
import pytest

from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.charts.limiter import Limiter, Pace, plan_pace
from mcp_binance_server.charts.plan_memory import PlanMemory
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock

BASIC = Pace(1, 3, 50)


async def test_a_burst_leaves_at_once_and_the_next_ones_wait_for_the_rate(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: BASIC)

    for _ in range(6):
        await limiter.take_turn()

    assert clock.slept_ms == [1_000, 1_000, 1_000]


async def test_who_would_wait_longer_than_five_seconds_is_told_when_to_come_back(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: Pace(0.1, 1, None))
    await limiter.take_turn()

    with pytest.raises(ChartLimitReached) as caught:
        await limiter.take_turn()

    assert (caught.value.retry_after_secs, caught.value.quota) == (10, False)
    assert clock.slept_ms == []
    clock.advance(5_000)
    await limiter.take_turn()
    assert clock.slept_ms == [5_000]


class Watching(FakeClock):
    """A clock on which several sleep side by side."""

    async def sleep_ms(self, duration_ms: float) -> None:
        self.slept_ms.append(duration_ms)
        await anyio.lowlevel.checkpoint()


async def test_those_who_wait_together_get_different_turns() -> None:
    clock = Watching()
    limiter = Limiter(clock, MemoryEngine(clock), lambda: BASIC)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(limiter.take_turn)

    assert sorted(clock.slept_ms) == [1_000, 2_000, 3_000, 4_000, 5_000]


async def test_nobody_leaves_while_the_service_said_to_wait(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: BASIC)
    limiter.close_for(30_000)

    with pytest.raises(ChartLimitReached) as caught:
        await limiter.take_turn()

    assert caught.value.retry_after_secs == 30
    clock.advance(30_000)
    await limiter.take_turn()


async def test_a_day_has_so_many_images_and_ends_at_midnight(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: Pace(1, 3, 2))
    for left in (2, 1):
        assert await limiter.images_left() == left
        await limiter.book_image()

    with pytest.raises(ChartLimitReached) as caught:
        await limiter.book_image()

    assert caught.value.quota
    assert caught.value.retry_after_secs == 86_400 - 123  # the tests begin two minutes and three seconds into a day
    clock.advance(caught.value.retry_after_secs * 1000)
    assert await limiter.images_left() == 2


async def test_an_image_given_back_is_there_for_the_next(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: Pace(1, 3, 1))
    booking = await limiter.book_image()

    await limiter.give_back(booking)
    await limiter.give_back(booking)

    assert await limiter.images_left() == 1
    await limiter.book_image()
    with pytest.raises(ChartLimitReached):
        await limiter.book_image()


async def test_images_are_counted_before_anybody_knows_how_many_a_day_has(clock: FakeClock) -> None:
    per_day: list[int | None] = [None]
    limiter = Limiter(clock, MemoryEngine(clock), lambda: Pace(1, 3, per_day[0]))
    for _ in range(3):
        await limiter.book_image()
    unknown = await limiter.images_left()

    per_day[0] = 3

    assert (unknown, await limiter.images_left()) == (None, 0)
    with pytest.raises(ChartLimitReached):
        await limiter.book_image()


@pytest.mark.parametrize(
    ("configured", "refusal", "pace"),
    [
        (None, None, Pace(1, 3, None)),
        ("PRO", None, Pace(10, 15, 500)),
        ("ENTERPRISE", None, Pace(35, 50, None)),
        (None, "Exceed Max Usage Resolution Limit (1920x1600)", Pace(15, 25, 1000)),
        (None, "Exceed Max Usage Resolution Limit (999x999)", Pace(1, 3, None)),
    ],
)
def test_the_pace_is_the_plans_and_an_assumed_plan_does_not_count_the_day(
    clock: FakeClock, configured: str | None, refusal: str | None, pace: Pace
) -> None:
    plans = PlanMemory(clock, PLANS[configured] if configured else None)
    plans.learn(refusal or "")

    assert plan_pace(plans) == pace
    assert plan_pace(plans, per_second=2.5, per_day=7) == Pace(2.5, pace.burst, 7)
