"""Rules of the budget one by one, on an engine that answers by a script: what is asked, waited for, booked and told."""

from collections import deque
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from mcp_binance_server.domain.access import acting_for
from mcp_binance_server.errors import EngineUnavailable, RateLimited
from mcp_binance_server.exchange.allowance import Allowance
from mcp_binance_server.exchange.budget import Budget
from mcp_binance_server.exchange.endpoints import EXCHANGE_INFO, RestCall, WriteCall
from mcp_binance_server.exchange.server_time import ServerTime
from mcp_binance_server.exchange.wire import ExchangeRefusal
from mcp_binance_server.state.engine import Grant, Refusal
from mcp_binance_server.state.memory import MemoryEngine
from support.clock import FakeClock

pytestmark = pytest.mark.anyio

MINUTE_MS = 60_000
CALL = RestCall("klines", 2)
GRANTED = Grant(granted=True, reason="", used=0, retry_ms=0)


def refused(reason: Refusal, retry_ms: int, **more: Any) -> Grant:  # noqa: ANN401 - any field
    return replace(Grant(granted=False, reason=reason, used=0, retry_ms=retry_ms), **more)


class Scripted(MemoryEngine):
    """An engine that gives its answers in order and keeps what it was asked and told."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock)
        self.grants: deque[Grant] = deque()
        self.asked: list[dict[str, Any]] = []
        self.told: list[tuple[str, int, int]] = []
        self.is_away = False

    async def acquire_weight(self, ip: str, kind: str, cost: int, **more: Any) -> Grant:  # noqa: ANN401 - any argument
        self.asked.append({"ip": ip, "kind": kind, "cost": cost, **more})
        return self.grants.popleft() if self.grants else GRANTED

    async def report_weight(self, ip: str, used: int, *, minute: int) -> None:
        assert ip == "our-address"
        self.told.append(("report", used, minute))

    async def recall_weight(self, ip: str, used: int, *, minute: int) -> None:
        assert ip == "our-address"
        self.told.append(("recall", used, minute))

    async def stop_weight(self, ip: str, *, ms: int, reason: str) -> int:
        assert ip == "our-address"
        if self.is_away:
            raise EngineUnavailable(operation="stop_weight")
        self.told.append((reason, ms, 0))
        return ms


@pytest.fixture
def engine(clock: FakeClock) -> Scripted:
    # A tenth of a minute in, so that no wait is for a moment that has come.
    clock.set_wall((clock.now_ms() // MINUTE_MS) * MINUTE_MS + 6_000)
    return Scripted(clock)


@pytest.fixture
def time(clock: FakeClock) -> ServerTime:
    return ServerTime(clock)


@pytest.fixture
def budget(engine: Scripted, time: ServerTime, clock: FakeClock) -> Budget:
    return Budget(engine, time, clock, "our-address")


def headers(used: int | str, at_ms: int) -> dict[str, str]:
    return {"x-mbx-used-weight-1m": str(used), "date": formatdate(at_ms / 1000, usegmt=True)}


async def test_of_a_count_that_was_lost_one_caller_is_to_ask(budget: Budget, engine: Scripted) -> None:
    engine.grants.append(refused("forgotten", 0))

    assert await budget.spend(CALL) is False
    assert await budget.spend(CALL) is True


async def test_the_others_look_again_five_times_a_second_and_no_longer_than_three(
    budget: Budget, engine: Scripted, clock: FakeClock
) -> None:
    engine.grants.extend([refused("forgotten", 1_000), refused("forgotten", 150)])

    assert await budget.spend(CALL) is True
    assert clock.slept_ms == [200, 150]

    engine.grants.extend([refused("forgotten", 1_000)] * 100)
    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)
    assert clock.slept_ms == [200, 150, *[200] * 15]
    assert caught.value.retry_after_secs == 1


async def test_a_call_that_may_not_queue_looks_once(budget: Budget, engine: Scripted, clock: FakeClock) -> None:
    for reason in ("forgotten", "budget"):
        engine.grants.append(refused(reason, 500))
        with pytest.raises(RateLimited):
            await budget.spend(replace(CALL, may_queue=False))

    assert clock.slept_ms == []


@pytest.mark.parametrize("reason", ["budget", "share"])
async def test_a_call_waits_for_the_next_minute_where_that_is_two_seconds_away_at_most(
    reason: Refusal, budget: Budget, engine: Scripted, clock: FakeClock
) -> None:
    engine.grants.append(refused(reason, 2_000))

    assert await budget.spend(CALL)
    assert clock.slept_ms == [2_000]

    engine.grants.append(refused(reason, 2_001))
    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)
    assert clock.slept_ms == [2_000]
    assert caught.value.retry_after_secs == 3


async def test_a_share_that_is_used_up_is_told_with_its_two_numbers_and_a_budget_without(
    budget: Budget, engine: Scripted
) -> None:
    told: list[tuple[int | None, int | None]] = []
    for reason in ("share", "budget"):
        engine.grants.append(refused(reason, 5_000, own=40, share=30))
        with pytest.raises(RateLimited) as caught:
            await budget.spend(CALL)
        told.append((caught.value.own_weight, caught.value.weight_share))

    assert told == [(40, 30), (None, None)]


async def test_what_was_spent_without_the_engine_is_counted_here(budget: Budget, engine: Scripted) -> None:
    engine.grants.extend([GRANTED, replace(GRANTED, is_local=True), replace(GRANTED, is_local=True)])

    for weight in (1, 2, 5):
        await budget.spend(replace(CALL, weight=weight))

    assert budget.spent_locally == 7


async def test_what_is_under_way_is_added_to_a_count_that_is_recalled(
    budget: Budget, engine: Scripted, clock: FakeClock
) -> None:
    for weight in (3, 4, 6):
        await budget.spend(replace(CALL, weight=weight))
    budget.landed(replace(CALL, weight=4))
    minute = clock.now_ms() // MINUTE_MS

    await budget.recall(headers(100, clock.now_ms()))
    await budget.recall(headers("", clock.now_ms()))
    await budget.recall(headers(100, clock.now_ms()) | {"date": ""})

    assert engine.told == [("recall", 109, minute)]


async def test_a_count_in_a_header_is_reported_with_its_minute_and_the_newest_is_told(
    budget: Budget, engine: Scripted, clock: FakeClock
) -> None:
    now_ms = clock.now_ms()
    minute = now_ms // MINUTE_MS
    for used, at_ms in ((50, now_ms), (40, now_ms), (900, now_ms - MINUTE_MS)):
        await budget.settle(headers(used, at_ms))
    await budget.settle(headers("", now_ms))
    await budget.settle(headers(60, now_ms) | {"date": "soon"})
    engine.grants.append(refused("stopped", 1_000))

    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)

    assert engine.told == [("report", 50, minute), ("report", 40, minute), ("report", 900, minute - 1)]
    assert caught.value.current_weight == 50


@pytest.mark.parametrize(("minutes_ahead", "told"), [(1, 60), (2, 7)])
async def test_a_count_of_two_minutes_ahead_gives_way_to_the_next_one(
    minutes_ahead: int, told: int, budget: Budget, engine: Scripted, clock: FakeClock
) -> None:
    await budget.settle(headers(60, clock.now_ms() + minutes_ahead * MINUTE_MS))
    await budget.settle(headers(7, clock.now_ms()))
    clock.advance(minutes_ahead * MINUTE_MS if minutes_ahead == 1 else 0)
    engine.grants.append(refused("stopped", 1_000))

    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)

    assert caught.value.current_weight == told


async def test_after_a_stop_one_request_a_second_finds_out(budget: Budget, engine: Scripted, clock: FakeClock) -> None:
    engine.grants.append(refused("stopped", 5_000))
    with pytest.raises(RateLimited):
        await budget.spend(CALL)

    with pytest.raises(RateLimited) as early:
        await budget.spend(CALL)
    clock.advance(4_999)
    await budget.relent()
    with pytest.raises(RateLimited) as still:
        await budget.spend(CALL)
    clock.advance(1)
    assert await budget.spend(CALL)
    with pytest.raises(RateLimited) as second:
        await budget.spend(CALL)
    await budget.relent()
    assert await budget.spend(CALL)

    assert [each.value.retry_after_secs for each in (early, still, second)] == [5, 1, 1]


@pytest.mark.parametrize(
    ("refusal", "ms", "asked_secs"),
    [
        (ExchangeRefusal(429, -1003, "", 7), 7_000, None),
        (ExchangeRefusal(429, -1003, "", 600), 600_000, None),
        (ExchangeRefusal(418, -1003, "", 601), 600_000, None),
        (ExchangeRefusal(418, -1003, "", 602), 600_000, 602),
        (ExchangeRefusal(418, -1003, "", None), 120_000, None),
        (ExchangeRefusal(429, -1003, "", None), 55_000, None),
    ],
)
@pytest.mark.parametrize("is_away", [False, True])
async def test_a_stop_lasts_as_long_as_the_exchange_says_and_ten_minutes_at_most(  # noqa: PLR0917
    refusal: ExchangeRefusal, ms: int, asked_secs: int | None, is_away: bool, budget: Budget, engine: Scripted,  # noqa: FBT001
) -> None:  # fmt: skip
    engine.is_away = is_away

    error = await budget.halt(refusal)

    assert (error.retry_after_secs, error.exchange_wait_secs) == (ms // 1000, asked_secs)
    assert engine.told == ([] if is_away else [(f"HTTP {refusal.status}", ms, 0)])


async def test_a_ban_that_is_told_in_words_lasts_to_its_end(budget: Budget, engine: Scripted, clock: FakeClock) -> None:
    def banned(until_ms: int) -> ExchangeRefusal:
        return ExchangeRefusal(418, -1003, f"Way too much request weight used; IP banned until {until_ms}.", None)

    await budget.halt(banned(clock.now_ms() + 1))
    await budget.halt(banned(clock.now_ms()))

    assert [ms for _, ms, _ in engine.told] == [1, 120_000]


async def test_an_answer_ends_what_the_exchange_has_asked_for(budget: Budget, clock: FakeClock) -> None:
    await budget.halt(ExchangeRefusal(418, -1003, "", 5_000))
    await budget.settle(headers(1, clock.now_ms()))
    clock.advance(100)

    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)

    assert (caught.value.retry_after_secs, caught.value.exchange_wait_secs) == (600, None)


@pytest.mark.parametrize(
    ("is_known", "call", "limit", "local"),
    [
        (False, CALL, 1_200, 0),
        (False, EXCHANGE_INFO, 6_000, 0),
        (False, replace(CALL, in_background=True), 666, 0),
        (True, CALL, 900, 900),
        (True, EXCHANGE_INFO, 900, 900),
        (True, replace(CALL, in_background=True), 500, 0),
        (True, replace(CALL, counter="futures"), 900, 0),
        (True, WriteCall("order", 2), 900, 0),
    ],
)
async def test_a_call_may_spend_of_the_limit_that_is_known_and_a_background_call_five_ninths_of_it(  # noqa: PLR0917
    is_known: bool, call: RestCall, limit: int, local: int, budget: Budget, engine: Scripted, time: ServerTime,  # noqa: FBT001
) -> None:  # fmt: skip
    if is_known:
        budget.learn_limit(900)
        time.learn(time.now_ms(), asked_at_ms=0, answered_at_ms=0)
    budget.counters = {"futures": Allowance(engine, time, budget.clock, "counted", 5)}

    await budget.spend(call)

    asked = engine.asked[0]
    assert (asked["limit"], asked["local_limit"], asked["cost"]) == (limit, local, call.weight)
    assert [each["ip"] for each in engine.asked] == ["our-address", *(["counted"] if call.counter else [])]


async def test_without_a_time_nothing_is_spent_without_the_engine(budget: Budget, engine: Scripted) -> None:
    budget.learn_limit(900)

    await budget.spend(CALL)

    assert engine.asked[0]["local_limit"] == 0


async def test_a_call_is_charged_to_its_party_unless_all_need_it_or_it_runs_in_the_background(
    budget: Budget, engine: Scripted
) -> None:
    with acting_for("ann"):
        for call in (CALL, replace(CALL, for_all=True), replace(CALL, in_background=True)):
            await budget.spend(call)

    assert [each["party"] for each in engine.asked] == ["ann", "", ""]


async def test_all_may_be_spent_where_nothing_private_is_called(budget: Budget, engine: Scripted) -> None:
    await budget.spend(CALL)
    budget.has_private_calls = False
    await budget.spend(CALL)

    assert [each["kind"] for each in engine.asked] == ["public", "private"]


async def test_a_limit_is_looked_for_once_when_the_smallest_does_not_suffice(budget: Budget, engine: Scripted) -> None:
    looked: list[int] = []

    async def find() -> None:
        looked.append(budget.limit)
        budget.learn_limit(6_000)

    budget.find_limit = find
    engine.grants.extend([refused("budget", 9_000), GRANTED, refused("budget", 9_000)])

    assert await budget.spend(CALL)
    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)

    assert (looked, caught.value.weight_limit) == ([1_200], 6_000)


async def test_the_limit_itself_is_not_looked_for_while_it_is_asked_for(budget: Budget, engine: Scripted) -> None:
    async def find() -> None:
        raise AssertionError("asked for itself")

    budget.find_limit = find
    engine.grants.append(refused("budget", 9_000))

    with pytest.raises(RateLimited):
        await budget.spend(EXCHANGE_INFO)


async def test_the_moment_a_wait_ends_is_exact(budget: Budget, engine: Scripted) -> None:
    told: list[int] = []
    for retry_ms in (0, 1, 1_000, 1_001):
        engine.grants.append(refused("stopped", retry_ms))
        with pytest.raises(RateLimited) as caught:
            await budget.spend(CALL)
        told.append(caught.value.retry_after_secs)

    assert told == [1, 1, 1, 2]


async def test_what_the_exchange_asked_for_is_told_in_whole_seconds_and_only_where_it_is_longer(
    budget: Budget, engine: Scripted, clock: FakeClock
) -> None:
    await budget.halt(ExchangeRefusal(418, -1003, "", 5_000))
    clock.advance(500)
    engine.grants.append(refused("stopped", 100_000))

    with pytest.raises(RateLimited) as caught:
        await budget.spend(CALL)

    assert caught.value.exchange_wait_secs == 5_000


def test_a_budget_is_shown_without_its_parts(budget: Budget) -> None:
    assert not {"counters", "find_limit", "_after_stop"} & {each.partition("=")[0] for each in repr(budget).split(", ")}
