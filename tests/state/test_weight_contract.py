"""What every engine promises about the request weight of one address."""

import pytest

from mcp_binance_server.state.engine import CallKind, Grant, StateEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

LIMIT = 1000
CEILING = 900
MINUTE = 29_743_202
START = MINUTE * 60_000
MIDDLE = START + 30_000


async def spend(engine: StateEngine, kind: CallKind, cost: int, *, now_ms: int = MIDDLE, ip: str = "ip") -> Grant:
    return await engine.acquire_weight(ip, kind, cost, limit=LIMIT, now_ms=now_ms)


async def test_a_granted_call_is_counted_and_the_grant_is_true(engine: StateEngine) -> None:
    grant = await spend(engine, "public", 40)

    assert grant
    assert grant == Grant(granted=True, reason="", used=40, retry_ms=0)
    assert await engine.read_weight("ip", now_ms=MIDDLE) == 40


async def test_the_ceiling_is_nine_tenths_of_the_limit_rounded_down(engine: StateEngine) -> None:
    assert not await engine.acquire_weight("ip", "order", 10, limit=11, now_ms=MIDDLE)
    assert await engine.acquire_weight("ip", "order", 9, limit=11, now_ms=MIDDLE)


async def test_a_refusal_changes_nothing(engine: StateEngine) -> None:
    await spend(engine, "order", CEILING)

    refused = await spend(engine, "order", 1)

    assert not refused
    assert refused.reason == "budget"
    assert refused.used == CEILING
    assert await engine.read_weight("ip", now_ms=MIDDLE) == CEILING


async def test_a_retry_after_exactly_the_wait_is_judged_by_the_new_minute(engine: StateEngine) -> None:
    await spend(engine, "order", CEILING)
    refused = await spend(engine, "order", CEILING)

    assert not await spend(engine, "order", CEILING, now_ms=MIDDLE + refused.retry_ms - 1)
    assert await spend(engine, "order", CEILING, now_ms=MIDDLE + refused.retry_ms)


async def test_one_refused_for_the_minute_just_past_waits_only_for_the_guard(engine: StateEngine) -> None:
    await spend(engine, "order", CEILING)

    refused = await spend(engine, "order", 1, now_ms=START + 60_200)

    assert refused == Grant(granted=False, reason="budget", used=CEILING, retry_ms=800)
    assert await spend(engine, "order", 1, now_ms=START + 61_000)


async def test_one_refused_for_the_minute_to_come_waits_until_that_is_over(engine: StateEngine) -> None:
    await engine.report_weight("ip", CEILING, minute=MINUTE + 1)

    refused = await spend(engine, "order", 1, now_ms=START + 59_500)

    assert refused.retry_ms == 500 + 60_000 + 1_000


@pytest.mark.parametrize(
    ("into_ms", "before", "own", "after"),
    [
        (0, 7, 7, 0),
        (999, 7, 7, 0),
        (1_000, 0, 7, 0),
        (58_999, 0, 7, 0),
        (59_000, 0, 7, 7),
        (59_999, 0, 7, 7),
    ],
)
async def test_within_a_second_of_an_edge_both_minutes_are_charged(
    engine: StateEngine, into_ms: int, before: int, own: int, after: int
) -> None:
    await spend(engine, "public", 7, now_ms=START + into_ms)

    counted = [await engine.read_weight("ip", now_ms=MIDDLE + shift) for shift in (-60_000, 0, 60_000)]
    assert counted == [before, own, after]


async def test_public_calls_leave_the_reserves_of_private_calls_and_orders(engine: StateEngine) -> None:
    assert await spend(engine, "public", 270)
    assert not await spend(engine, "public", 1)

    assert await spend(engine, "private", 450)
    assert not await spend(engine, "private", 1)

    assert await spend(engine, "order", 180)
    assert not await spend(engine, "order", 1)


async def test_a_used_reserve_is_not_kept_twice(engine: StateEngine) -> None:
    await spend(engine, "order", 180)
    await spend(engine, "private", 450)

    assert await spend(engine, "public", 270)


async def test_orders_may_use_everything(engine: StateEngine) -> None:
    assert await spend(engine, "order", CEILING)


async def test_addresses_do_not_share_a_budget(engine: StateEngine) -> None:
    await spend(engine, "order", CEILING)

    assert await spend(engine, "order", CEILING, ip="another")


async def test_a_negative_cost_is_refused(engine: StateEngine) -> None:
    with pytest.raises(ValueError, match="-1"):
        await spend(engine, "public", -1)


async def test_a_report_raises_the_count_of_its_own_minute_and_never_lowers_it(engine: StateEngine) -> None:
    await spend(engine, "public", 100)

    await engine.report_weight("ip", 300, minute=MINUTE)
    await engine.report_weight("ip", 50, minute=MINUTE)
    await engine.report_weight("ip", 800, minute=MINUTE - 1)

    assert await engine.read_weight("ip", now_ms=MIDDLE) == 300
    assert await engine.read_weight("ip", now_ms=MIDDLE - 60_000) == 800


async def test_a_recalled_count_is_raised_like_a_reported_one(engine: StateEngine) -> None:
    await spend(engine, "public", 100)

    await engine.recall_weight("ip", 890, minute=MINUTE)
    await engine.recall_weight("ip", 50, minute=MINUTE)

    assert await engine.read_weight("ip", now_ms=MIDDLE) == 890
    assert not await spend(engine, "order", 11)
    assert await spend(engine, "order", 10)


async def test_reported_weight_counts_against_the_ceiling(engine: StateEngine) -> None:
    await engine.report_weight("ip", 890, minute=MINUTE)

    assert not await spend(engine, "order", 11)
    assert await spend(engine, "order", 10)


async def test_while_stopped_every_kind_is_refused_until_the_stop_is_over(
    engine: StateEngine, clock: FakeClock
) -> None:
    await spend(engine, "public", 5)
    assert await engine.stop_weight("ip", ms=2000, reason="429") == 2000
    clock.advance(500)

    kinds: tuple[CallKind, ...] = ("order", "private", "public")
    refused = [await spend(engine, kind, 1) for kind in kinds]

    assert refused == [Grant(granted=False, reason="stopped", used=5, retry_ms=1500)] * 3
    assert await spend(engine, "public", 1, ip="another")
    clock.advance(1500)
    assert await spend(engine, "public", 1)


async def test_a_stop_is_only_ever_extended(engine: StateEngine, clock: FakeClock) -> None:
    await engine.stop_weight("ip", ms=2000, reason="418")
    clock.advance(100)

    assert await engine.stop_weight("ip", ms=500, reason="429") == 1900
    assert (await spend(engine, "order", 1)).retry_ms == 1900
    assert await engine.stop_weight("ip", ms=5000, reason="429") == 5000
    assert await engine.stop_weight("ip", ms=0, reason="429") == 5000


async def test_a_minute_is_remembered_long_enough_for_a_late_report(engine: StateEngine, clock: FakeClock) -> None:
    await spend(engine, "order", CEILING, now_ms=START + 59_500)

    clock.advance(61_000)

    assert not await spend(engine, "order", 1, now_ms=START + 59_500 + 61_000)
