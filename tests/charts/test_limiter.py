"""Our own pace towards chart-img: a burst, then a rate, a wait of five seconds at most, and so many images a day."""

import anyio
import pytest

from mcp_binance_server.charts.chartimg.limiter import Limiter, Pace, plan_pace
from mcp_binance_server.charts.chartimg.plan_memory import PlanMemory
from mcp_binance_server.charts.errors import ChartLimitReached
from mcp_binance_server.charts.plans import PLANS
from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock
from support.stepped import SteppedClock

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


class Taking:
    """Where parties wait for their turns; notes who left when, and who was refused."""

    def __init__(self, pace: Pace) -> None:
        self.clock = SteppedClock()
        self.limiter = Limiter(self.clock, MemoryEngine(self.clock), lambda: pace)
        self.left: list[tuple[str, float]] = []
        self.refused: list[tuple[str, int]] = []

    async def take(self, party: str) -> None:
        try:
            with acting_for(party):
                await self.limiter.take_turn()
            self.left.append((party, self.clock.monotonic_ms()))
        except ChartLimitReached as error:
            self.refused.append((party, error.retry_after_secs))

    async def run(self, duration_ms: float) -> None:
        await self.clock.run(duration_ms, lambda: None)


async def test_those_who_wait_together_get_different_turns() -> None:
    taking = Taking(BASIC)

    async with anyio.create_task_group() as group:
        for _ in range(9):
            group.start_soon(taking.take, "ann")
        await taking.run(6_000)

    assert [at for _, at in taking.left] == [0, 0, 0, 1_000, 2_000, 3_000, 4_000, 5_000]
    assert taking.refused == [("ann", 6)]


async def test_turns_go_round_the_parties_however_many_each_has_waiting() -> None:
    taking = Taking(BASIC)

    async with anyio.create_task_group() as group:
        for _ in range(8):
            group.start_soon(taking.take, "mallory")
        await taking.run(100)
        for party in ("bob", "cat"):
            group.start_soon(taking.take, party)
        await taking.run(6_000)

    # Mallory has five waiting; the last of them go, and the others have the next turns after her first.
    assert [party for party, _ in taking.left[3:]] == ["mallory", "bob", "cat", "mallory", "mallory"]
    assert [party for party, _ in taking.refused] == ["mallory", "mallory"]


async def test_nobody_is_refused_who_has_no_more_than_an_equal_part_waiting() -> None:
    taking = Taking(Pace(10, 1, None))
    modest = [f"modest {number}" for number in range(9)]

    async with anyio.create_task_group() as group:
        for _ in range(200):
            group.start_soon(taking.take, "mallory")
        await taking.run(100)
        for party in 4 * modest:
            group.start_soon(taking.take, party)
        for _ in range(50):
            group.start_soon(taking.take, "mallory")
        await taking.run(6_000)

    waited = [at for party, at in taking.left if party == "modest 0"]
    assert {party for party, _ in taking.refused} == {"mallory"}
    assert len([party for party, _ in taking.left if party in modest]) == 36
    assert waited[0] <= 1_100


async def test_one_who_gives_up_leaves_its_turn_to_the_next() -> None:
    taking = Taking(Pace(1, 1, None))
    await taking.take("ann")

    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as scope:
            group.start_soon(taking.take, "bob")
            async with anyio.create_task_group() as leaving:
                leaving.start_soon(taking.take, "ann")
                await taking.run(100)
                scope.cancel()
        await taking.run(2_000)

    assert taking.left == [("ann", 0), ("bob", 1_000)]


async def test_one_who_waits_when_the_service_says_to_wait_is_told_in_time() -> None:
    taking = Taking(Pace(1, 1, None))
    await taking.take("ann")

    async with anyio.create_task_group() as group:
        group.start_soon(taking.take, "bob")
        await taking.run(100)
        taking.limiter.close_for(60_000)
        await taking.run(5_000)

    assert taking.refused == [("bob", 56)]


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


async def test_a_days_images_are_shared_out_among_those_who_draw(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: Pace(1, 3, 50))
    with acting_for("mallory"):
        for _ in range(46):
            await limiter.book_image()
        with pytest.raises(ChartLimitReached) as caught:
            await limiter.book_image()

    with acting_for("bob"):
        await limiter.book_image()

    told = caught.value
    assert (told.quota, told.own_images, told.images_share) == (True, 46, 25)
    assert told.retry_after_secs == 86_400 - 123
    assert told.message.endswith("The rest is reserved for other callers.")
    assert await limiter.images_left() == 3


async def test_what_newcomers_would_find_is_lent_towards_the_end_of_the_day(clock: FakeClock) -> None:
    limiter = Limiter(clock, MemoryEngine(clock), lambda: Pace(1, 3, 50))
    clock.advance(20 * 3_600_000)

    with acting_for("ann"):
        for _ in range(50):
            await limiter.book_image()

    assert await limiter.images_left() == 0
